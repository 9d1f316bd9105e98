-- On one node: mariadb < accounts.sql, with passwords of your own. lcc works on rows; lcc_admin makes tables, for lcckeep init only.
CREATE DATABASE IF NOT EXISTS lcc;
CREATE USER lcc@'%' IDENTIFIED BY 'rows of the engine' REQUIRE SSL;
GRANT SELECT, INSERT, UPDATE, DELETE ON lcc.* TO lcc@'%';
CREATE USER lcc_admin@'%' IDENTIFIED BY 'tables of the engine' REQUIRE SSL;
GRANT ALL PRIVILEGES ON lcc.* TO lcc_admin@'%';
