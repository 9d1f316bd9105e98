/** Schema 4: checksums of what tells content users that something is gone. */
export const migration004 = `
-- NULL = from before; that is believed up to the number of the change sequence in counter 'unsummed'.
ALTER TABLE tombstone ADD COLUMN sum INTEGER;
ALTER TABLE oldpath ADD COLUMN sum INTEGER;
INSERT INTO counter SELECT 'unsummed', value FROM counter WHERE name = 'seq';

-- 'purged' decides who must resynchronise: what does not stand here with the other sign is not believed.
INSERT INTO counter SELECT 'unpurged', -value FROM counter WHERE name = 'purged';
`;
