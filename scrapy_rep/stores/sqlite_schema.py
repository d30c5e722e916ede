"""The tables of the SQLite file; :mod:`scrapy_rep.stores.sqlite_tables` says what they hold."""

from __future__ import annotations

TABLES = (
    "CREATE TABLE IF NOT EXISTS parts (prefix TEXT NOT NULL, authority TEXT NOT NULL,"
    " part TEXT NOT NULL, until REAL NOT NULL, octets BLOB NOT NULL,"
    " PRIMARY KEY (prefix, authority, part))",
    "CREATE INDEX IF NOT EXISTS parts_until ON parts (until)",
    "CREATE TABLE IF NOT EXISTS fetch_leases (prefix TEXT NOT NULL, authority TEXT NOT NULL,"
    " token TEXT NOT NULL, since REAL NOT NULL, until REAL NOT NULL,"
    " PRIMARY KEY (prefix, authority)) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS entries (authority TEXT PRIMARY KEY, dated REAL NOT NULL,"
    " octets BLOB NOT NULL) WITHOUT ROWID",
    "CREATE INDEX IF NOT EXISTS entries_dated ON entries (dated)",
    "CREATE TABLE IF NOT EXISTS host_turns (prefix TEXT NOT NULL, host TEXT NOT NULL,"
    " token TEXT NOT NULL, since REAL NOT NULL, interval REAL NOT NULL, until REAL NOT NULL,"
    " PRIMARY KEY (prefix, host)) WITHOUT ROWID",
    "CREATE INDEX IF NOT EXISTS host_turns_until ON host_turns (until)",
    "CREATE TABLE IF NOT EXISTS turn_memory (prefix TEXT PRIMARY KEY, since REAL NOT NULL)"
    " WITHOUT ROWID",
)
