// Package servers selects the inspector for each kind of server that can be inspected.
package servers

import (
	"context"
	"fmt"

	"brunt/internal/base/secret"
	"brunt/internal/inspect"
	"brunt/internal/inspect/postgres"
	"brunt/internal/render/message"
)

// Parse returns the inspector for a text of the form KIND=URL, such as pg=DSN. Its errors are for the user: one line,
// without secrets.
func Parse(text string) (inspect.Inspector, error) {
	k, url, err := split(text)
	if err != nil {
		return nil, err
	}
	return k.New(url)
}

// Open returns the database for a text of the form pg=DSN, to get advice from it. build permits building indexes in
// order to try them, if there is no other way; see postgres.Database. Its errors are like those of Parse, or say
// why the database can't be reached.
func Open(ctx context.Context, text string, build bool) (inspect.Database, error) {
	d, err := open(ctx, text)
	if err != nil {
		return nil, err
	}
	d.Build = build
	return d, nil
}

// Lacks returns what prevents the counting of statements, and the building of indexes, in the database for a text
// of the form pg=DSN; see postgres.Database. Its errors are like those of Open.
func Lacks(ctx context.Context, text string) (counts, builds message.Message, err error) {
	d, err := open(ctx, text)
	if err != nil {
		return counts, builds, err
	}
	return d.Lacks(ctx)
}

// open connects to the database of a text. Only those of PostgreSQL give advice.
func open(ctx context.Context, text string) (*postgres.Database, error) {
	k, dsn, err := split(text)
	if err != nil {
		return nil, err
	}
	if k.Name != advises {
		return nil, fmt.Errorf("%s: advice about indexes is for PostgreSQL; write %s= and how to connect", secret.Text(text),
			advises)
	}
	return postgres.Open(ctx, dsn)
}

// Advises reports whether the server for a text of the form KIND=URL gives advice about indexes and executes SQL: see Open.
func Advises(text string) bool {
	k, _, err := split(text)
	return err == nil && k.Name == advises
}

// Reach checks that the server for a text of the form KIND=URL can be inspected. Its errors are like those of Parse, or say
// why it can't be reached.
func Reach(ctx context.Context, text string) error {
	i, err := Parse(text)
	if err != nil {
		return err
	}
	defer i.Close()
	return i.Begin(ctx)
}

// advises is the kind of servers that give advice.
const advises = "pg"
