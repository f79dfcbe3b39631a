package store

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"time"

	aiboxv1 "aibox/api/aibox/v1"
	"aibox/api/auth"
	"aibox/internal/fault"
	"aibox/session"
)

// Token describes a token. The token itself is shown once, at its creation.
type Token struct {
	ID      string
	Tenant  session.Tenant
	Name    string // its purpose, as its creator wrote it
	Rights  []aiboxv1.Right
	Created time.Time
	Expires time.Time // zero means never
	Revoked time.Time // zero means not revoked
}

// CreateToken creates a token of a tenant and returns it. The tenant is created if it does
// not exist.
func (s *Store) CreateToken(ctx context.Context, tenant session.Tenant, name string, rights []aiboxv1.Right, expires time.Time) (secret string, t Token, err error) {
	if len(rights) == 0 {
		return "", Token{}, fault.New(fault.Usage, "a token needs a right")
	}
	if !expires.IsZero() && !expires.After(time.Now()) {
		return "", Token{}, fault.New(fault.Usage, "the token would have expired already")
	}
	secret = auth.NewToken()
	hash, _ := auth.Hash(secret)
	t = Token{ID: strings.ToLower(rand.Text()[:8]), Tenant: tenant, Name: name, Rights: rights, Created: time.Now(), Expires: expires}
	err = s.change(ctx, func(tx *sql.Tx) error {
		if err := addTenant(ctx, tx, tenant); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, "INSERT INTO tokens VALUES (?, ?, ?, ?, ?, ?, ?, 0)",
			t.ID, string(tenant), hash, name, writeRights(rights), milliseconds(t.Created), milliseconds(expires))
		return err
	})
	return secret, t, err
}

// Authenticate returns the caller that has a token. An unknown, expired or revoked one gets
// the same answer: errUnauthenticated.
func (s *Store) Authenticate(ctx context.Context, token string) (auth.Caller, error) {
	hash, ok := auth.Hash(token)
	if !ok {
		return auth.Caller{}, ErrUnauthenticated
	}
	return s.caller(ctx, "hash", hash)
}

// Caller returns the caller whose token has an id, as Authenticate does for the token.
func (s *Store) Caller(ctx context.Context, id string) (auth.Caller, error) {
	return s.caller(ctx, "id", id)
}

// caller returns the caller whose token has a value in a column.
func (s *Store) caller(ctx context.Context, column, value string) (auth.Caller, error) {
	t, err := scanToken(s.reads.QueryRowContext(ctx, selectTokens+" WHERE "+column+" = ?", value))
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return auth.Caller{}, ErrUnauthenticated
	case err != nil:
		return auth.Caller{}, err
	case !t.Revoked.IsZero() || !t.Expires.IsZero() && !t.Expires.After(time.Now()):
		return auth.Caller{}, ErrUnauthenticated
	}
	return auth.Caller{Tenant: t.Tenant, Rights: t.Rights, Token: t.ID, Expires: t.Expires}, nil
}

// ErrUnauthenticated is the answer to every token that is not valid.
var ErrUnauthenticated = errors.New("the token is not valid")

// Tokens lists all tokens, the oldest first.
func (s *Store) Tokens(ctx context.Context) ([]Token, error) {
	rows, err := s.db.QueryContext(ctx, selectTokens+" ORDER BY created, rowid")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []Token
	for rows.Next() {
		t, err := scanToken(rows)
		if err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	return all, rows.Err()
}

// RevokeToken makes a token invalid. One that is revoked already is no error.
func (s *Store) RevokeToken(ctx context.Context, id string) error {
	result, err := s.exec(ctx, "UPDATE tokens SET revoked = CASE revoked WHEN 0 THEN ? ELSE revoked END WHERE id = ?", milliseconds(time.Now()), id)
	if err != nil {
		return err
	}
	if n, err := result.RowsAffected(); err != nil || n == 0 {
		return errors.Join(err, fault.New(fault.NotFound, "there is no token %q", id).Hint("`aibox token ls` lists them"))
	}
	return nil
}

const selectTokens = "SELECT id, tenant, name, rights, created, expires, revoked FROM tokens"

func scanToken(row interface{ Scan(...any) error }) (t Token, err error) {
	var rights string
	var created, expires, revoked int64
	if err := row.Scan(&t.ID, (*string)(&t.Tenant), &t.Name, &rights, &created, &expires, &revoked); err != nil {
		return Token{}, err
	}
	t.Created, t.Expires, t.Revoked = fromMilliseconds(created), fromMilliseconds(expires), fromMilliseconds(revoked)
	t.Rights, err = readRights(rights)
	return t, err
}

func writeRights(rights []aiboxv1.Right) string {
	names := make([]string, len(rights))
	for i, right := range rights {
		names[i] = auth.RightName(right)
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), " ")
}

func readRights(text string) (rights []aiboxv1.Right, err error) {
	for name := range strings.FieldsSeq(text) {
		right, err := auth.ParseRight(name)
		if err != nil {
			return nil, err
		}
		rights = append(rights, right)
	}
	return rights, nil
}

// milliseconds is the form of a time in the database; 0 is the zero time.
func milliseconds(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func fromMilliseconds(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}
