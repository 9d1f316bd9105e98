/** The part of rs.db that mail needs (docs/design/registration.md). Times are milliseconds since 1970. */
export const MAIL_SCHEMA = `
-- Of a registration of kind new: the address that is confirmed, and the one that waits for it, at most one each.
CREATE TABLE mail_address(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  registration INTEGER NOT NULL,
  address TEXT NOT NULL,
  token TEXT UNIQUE,                            -- sha256, hex, of the link that confirms it; NULL = it is confirmed
  since_ms INTEGER NOT NULL,
  looked_ms INTEGER NOT NULL                    -- when it was seen last whether its provider needs a hint
) STRICT;
CREATE UNIQUE INDEX mail_address_of ON mail_address(registration, token IS NULL);
CREATE INDEX mail_address_text ON mail_address(address);

-- Mailboxes that were written to and that nobody has confirmed: they are not written to again.
CREATE TABLE mail_unconfirmed(
  mailbox TEXT PRIMARY KEY,                     -- sha256, hex
  at_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Mails that the server has not taken. The body of a pair's has its password: the row goes with it.
CREATE TABLE mail(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  kind TEXT NOT NULL,
  registration INTEGER,
  message TEXT NOT NULL,                        -- its Message-ID, the same each time that it is sent
  address TEXT NOT NULL,
  body TEXT NOT NULL,
  made_ms INTEGER NOT NULL,
  due_ms INTEGER NOT NULL,
  ends_ms INTEGER NOT NULL,                     -- when it is given up
  tries INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX mail_due ON mail(due_ms);
CREATE INDEX mail_registration ON mail(registration);

-- What was written in the last day, for the limits.
CREATE TABLE mail_count(
  at_ms INTEGER NOT NULL,
  mailbox TEXT NOT NULL,                        -- sha256, hex
  network TEXT NOT NULL                         -- whose doing it was; '' = the LCC's own
) STRICT;
CREATE INDEX mail_count_at ON mail_count(at_ms);
CREATE INDEX mail_count_mailbox ON mail_count(mailbox, at_ms);
CREATE INDEX mail_count_network ON mail_count(network, at_ms);

-- What a confirmed address will hear, gathered.
CREATE TABLE mail_note(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  registration INTEGER NOT NULL,
  at_ms INTEGER NOT NULL,
  text TEXT NOT NULL
) STRICT;
CREATE INDEX mail_note_of ON mail_note(registration);

-- Asked for another password; answered before anybody looks whose it is.
CREATE TABLE forgotten(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  asked TEXT NOT NULL,                          -- a number or an address; '' when it was looked at
  network TEXT NOT NULL,
  at_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX forgotten_network ON forgotten(network, at_ms);

-- Links that give another password, once.
CREATE TABLE reset_link(
  token TEXT PRIMARY KEY,                       -- sha256, hex
  pid INTEGER NOT NULL,
  ends_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

INSERT INTO counter VALUES ('operator_mail', 0);

-- A pair that is over takes the mail with its password along, and what never became a provider its address.
CREATE TRIGGER mail_of_pair AFTER UPDATE OF state ON registration WHEN NEW.state IN ('refused', 'expired', 'cancelled')
BEGIN
  DELETE FROM mail WHERE registration = NEW.id AND kind = 'pair';
END;
CREATE TRIGGER mail_of_registration AFTER DELETE ON registration
WHEN OLD.id NOT IN (SELECT registration FROM registered)
BEGIN
  DELETE FROM mail_address WHERE registration = OLD.id;
  DELETE FROM mail_note WHERE registration = OLD.id;
END;
CREATE TRIGGER mail_of_provider AFTER DELETE ON registered
BEGIN
  DELETE FROM mail_address WHERE registration = OLD.registration;
  DELETE FROM mail_note WHERE registration = OLD.registration;
  DELETE FROM reset_link WHERE pid = OLD.pid;
END;
`;

/** From 0.3.0 on: when a mail is tried again, and for how long, is no matter of each mail. */
export const HAND_OVER_SCHEMA = `
DROP INDEX mail_due;
ALTER TABLE mail DROP COLUMN due_ms;
ALTER TABLE mail DROP COLUMN ends_ms;
ALTER TABLE mail DROP COLUMN tries;
`;

/** From 0.3.0 on: a link is of the password that it is to replace, and of the address that it went to. */
export const RESET_SCHEMA = `
ALTER TABLE reset_link ADD COLUMN generation INTEGER; -- of that password; NULL = not known, the Queue Manager was away
CREATE TRIGGER reset_link_of_address AFTER DELETE ON mail_address WHEN OLD.token IS NULL
BEGIN
  DELETE FROM reset_link WHERE pid IN (SELECT pid FROM registered WHERE registration = OLD.registration);
END;
CREATE TRIGGER reset_link_of_password AFTER INSERT ON outbox WHEN json_extract(NEW.change, '$.op') IN ('password', 'leave', 'stay', 'disable', 'enable')
BEGIN
  DELETE FROM reset_link WHERE pid = NEW.pid;
END;
`;
