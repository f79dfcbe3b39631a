// Package store is the database of the server: tenants with their quotas and defaults, tokens, keys of
// creations, and what tenants have used. Sandboxes, volumes and templates are not in it:
// they are found on the machine. It holds no token, only hashes.
//
// SQLite is pure Go here (modernc.org/sqlite), so that the program stays a static binary.
package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"syscall"

	"aibox/internal/diskerr"
	"aibox/internal/fault"
	"aibox/internal/paths"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// Store is an open database. It is safe for concurrent use, also by several processes.
type Store struct {
	db     *sql.DB
	reads  *sql.DB // connections that only read, which are free while others wait to write
	folder string  // of the database
}

// Path returns the path of the database.
func Path(dirs paths.Dirs) string { return filepath.Join(dirs.State, "api", "aibox.db") }

// Open opens the database at path, creates it if it is missing, and brings it to the
// current version. Only the user can access its folder and files.
func Open(ctx context.Context, path string) (*Store, error) {
	if err := makeFile(path); err != nil {
		return nil, fault.New(fault.Environment, "the database of the API cannot be used: %w", err)
	}
	db, err := connect(path)
	if err != nil {
		return nil, err
	}
	reads, err := connect(path, "query_only(1)")
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	s := &Store{db, reads, filepath.Dir(path)}
	if err := s.explain(s.migrate(ctx)); err != nil {
		return nil, errors.Join(fault.New(fault.Environment, "the database %s cannot be used: %w", path, err), s.Close())
	}
	return s, nil
}

// connect returns connections to the database at path, each of which has these pragmas as well.
func connect(path string, pragmas ...string) (*sql.DB, error) {
	pragmas = append([]string{"busy_timeout(10000)", "journal_mode(WAL)", "foreign_keys(1)", "synchronous(FULL)"}, pragmas...)
	query := url.Values{"_pragma": pragmas, "_txlock": {"immediate"}}
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: query.Encode()}).String())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(4)
	return db, nil
}

// Close closes the database.
func (s *Store) Close() error { return errors.Join(s.reads.Close(), s.db.Close()) }

// makeFile creates the file before SQLite does, since SQLite would make it readable for
// others. SQLite gives its other files the same mode.
func makeFile(path string) error {
	if err := paths.MakePrivate(filepath.Dir(path)); err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); !ok || int(stat.Uid) != os.Getuid() || !info.Mode().IsRegular() {
		return fmt.Errorf("%q is not a file of this user", path)
	}
	return file.Chmod(0o600)
}

// migrations bring a database from each version to the next. They are never changed, only
// added to.
var migrations = []string{`
CREATE TABLE tenants (
	name    TEXT PRIMARY KEY,
	quota   TEXT NOT NULL,    -- JSON of Quota
	created INTEGER NOT NULL  -- milliseconds since 1970, as all times
) STRICT;
CREATE TABLE tokens (
	id      TEXT PRIMARY KEY,
	tenant  TEXT NOT NULL REFERENCES tenants (name),
	hash    TEXT NOT NULL UNIQUE,
	name    TEXT NOT NULL,
	rights  TEXT NOT NULL,    -- names, separated by spaces
	created INTEGER NOT NULL,
	expires INTEGER NOT NULL, -- 0: never
	revoked INTEGER NOT NULL  -- 0: not
) STRICT;
CREATE TABLE creations (
	tenant  TEXT NOT NULL,
	key     TEXT NOT NULL,
	request TEXT NOT NULL,    -- digest
	sandbox TEXT NOT NULL,    -- empty while it is being created
	owner   TEXT NOT NULL,    -- the process that creates it
	created INTEGER NOT NULL,
	PRIMARY KEY (tenant, key)
) STRICT;
CREATE TABLE usage (
	tenant   TEXT NOT NULL,
	day      TEXT NOT NULL,   -- in UTC, as 2006-01-02
	sandbox  TEXT NOT NULL,
	upload   INTEGER NOT NULL,
	tokens   INTEGER NOT NULL,
	PRIMARY KEY (tenant, day, sandbox)
) STRICT;
`, `
CREATE TABLE keys (
	name    TEXT PRIMARY KEY,
	value   BLOB NOT NULL
) STRICT;
`, `
-- sandbox is now set before the sandbox exists.
ALTER TABLE creations ADD COLUMN done INTEGER NOT NULL DEFAULT 0;
UPDATE creations SET done = 1 WHERE sandbox <> '';
`, `
ALTER TABLE tenants ADD COLUMN defaults TEXT NOT NULL DEFAULT '{}'; -- JSON of config.RunOverrides
`, `
CREATE INDEX usage_of_sandbox ON usage (tenant, sandbox, day);
`}

// errNewer is the error for a database of a later version of aibox.
var errNewer = errors.New("it was written by a newer version of aibox")

// migrate brings the database to the current version. It writes nothing to one that has it: a
// transaction that writes waits for the disk and for other processes.
func (s *Store) migrate(ctx context.Context) error {
	if version, err := versionOf(ctx, s.db); err != nil || version == len(migrations) {
		return err
	}
	return s.change(ctx, func(tx *sql.Tx) error {
		version, err := versionOf(ctx, tx)
		if err != nil {
			return err
		}
		if version > len(migrations) {
			return errNewer
		}
		for _, migration := range migrations[version:] {
			if _, err := tx.ExecContext(ctx, migration); err != nil {
				return err
			}
		}
		_, err = tx.ExecContext(ctx, fmt.Sprintf("PRAGMA user_version = %d", len(migrations)))
		return err
	})
}

// querier is a database or one of its transactions.
type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// versionOf returns how many migrations a database has had.
func versionOf(ctx context.Context, db querier) (version int, err error) {
	err = db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version)
	return version, err
}

// change runs a transaction that writes.
func (s *Store) change(ctx context.Context, do func(*sql.Tx) error) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return s.explain(err)
	}
	if err := do(tx); err != nil {
		return s.explain(errors.Join(err, ignore(tx.Rollback(), sql.ErrTxDone)))
	}
	return s.explain(tx.Commit())
}

// exec runs a statement that writes.
func (s *Store) exec(ctx context.Context, statement string, args ...any) (sql.Result, error) {
	result, err := s.db.ExecContext(ctx, statement, args...)
	return result, s.explain(err)
}

// explain makes an error of SQLite that means a full disk one of diskerr. Others are unchanged.
func (s *Store) explain(err error) error {
	failed, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return err
	}
	code := failed.Code() & 0xff // without SQLite's details
	// SQLite maps its index of the log into memory, and reports an I/O error if that has no room.
	if code == sqlite3.SQLITE_FULL || code == sqlite3.SQLITE_IOERR && diskerr.WithoutRoom(s.folder) {
		err = fmt.Errorf("%w: %w", err, syscall.ENOSPC)
	}
	return diskerr.Explain(err, s.folder)
}

// ignore returns err unless it is an error of the given kind.
func ignore(err, kind error) error {
	if errors.Is(err, kind) {
		return nil
	}
	return err
}
