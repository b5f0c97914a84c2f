// Package servers selects the inspector for each kind of server that can be inspected.
package servers

import (
	"context"
	"fmt"
	"strings"

	"brunt/internal/base/secret"
	"brunt/internal/inspect"
	"brunt/internal/inspect/postgres"
	"brunt/internal/render/message"
)

// inspectsPostgres is the name of the only inspector. A load of any protocol may be inspected with it.
const inspectsPostgres = "pg"

// Parse returns the inspector for a text of the form pg=DSN. Its errors are for the user: one line, without
// secrets.
func Parse(text string) (inspect.Inspector, error) {
	dsn, err := split(text)
	if err != nil {
		return nil, err
	}
	return postgres.New(dsn)
}

// Open returns the database for a text of the form pg=DSN, to get advice from it. build permits building indexes in
// order to try them, if there is no other way; see postgres.Database. Its errors are like those of Parse, or say
// why the database can't be reached.
func Open(ctx context.Context, text string, build bool) (inspect.Database, error) {
	dsn, err := split(text)
	if err != nil {
		return nil, err
	}
	d, err := postgres.Open(ctx, dsn)
	if err != nil {
		return nil, err
	}
	d.Build = build
	return d, nil
}

// Lacks returns what prevents the counting of statements, and the building of indexes, in the database for a text
// of the form pg=DSN; see postgres.Database. Its errors are like those of Open.
func Lacks(ctx context.Context, text string) (counts, builds message.Message, err error) {
	dsn, err := split(text)
	if err != nil {
		return counts, builds, err
	}
	d, err := postgres.Open(ctx, dsn)
	if err != nil {
		return counts, builds, err
	}
	return d.Lacks(ctx)
}

func split(text string) (dsn string, err error) {
	name, dsn, ok := strings.Cut(text, "=")
	if !ok || name != inspectsPostgres || dsn == "" {
		return "", fmt.Errorf("%s: write pg= and how to connect, such as pg=postgres://host:5432/database?user=name",
			secret.Text(text))
	}
	return dsn, nil
}
