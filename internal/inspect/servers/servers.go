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

// Parse returns the inspector for a text of the form KIND=URL, such as pg=DSN. Its errors are for the user: one line,
// without secrets.
func Parse(text string) (inspect.Inspector, error) {
	k, url, err := split(text)
	if err != nil {
		return nil, err
	}
	return k.New(url)
}

// Check checks a text of the form KIND=URL, or auto.
func Check(text string) error {
	if text == Auto {
		return nil
	}
	_, err := Parse(text)
	return err
}

// Open returns the database for a text of the form KIND=URL, to get advice from it. build permits building indexes in
// order to try them, if there is no other way; see postgres.Database and built.Database. Its errors are like those of
// Parse, or say why the database can't be reached.
func Open(ctx context.Context, text string, build bool) (inspect.Database, error) {
	k, url, err := split(text)
	if err != nil {
		return nil, err
	}
	if k.Open == nil {
		return nil, fmt.Errorf("%s: there is no advice about indexes for this kind of server; it is for %s",
			secret.Text(text), strings.Join(advising(), ", "))
	}
	return k.Open(ctx, url, build)
}

// Settings opens the settings of the server for a text of the form KIND=URL. Its errors are like those of Open.
func Settings(ctx context.Context, text string) (inspect.Settings, error) {
	k, url, err := split(text)
	if err != nil {
		return nil, err
	}
	return k.Settings(ctx, url)
}

// Tunable returns an error if settings can't be changed for a text of the form KIND=URL, or Auto.
func Tunable(text string) error {
	var names []string
	for _, k := range Kinds() {
		if k.Settings != nil {
			names = append(names, k.Name)
		}
	}
	k, _, err := split(text)
	if text == Auto || err == nil && k.Settings == nil {
		return fmt.Errorf("settings can be changed where inspect is KIND=URL and the kind is one of %s",
			strings.Join(names, ", "))
	}
	return err
}

// advising returns the names of the kinds that give advice.
func advising() (names []string) {
	for _, k := range Kinds() {
		if k.Open != nil {
			names = append(names, k.Name)
		}
	}
	return names
}

// Lacks returns what prevents the counting of statements, and the building of indexes, in the database for a text
// of the form KIND=URL; see postgres.Database. It knows that of PostgreSQL only. Its errors are like those of Open.
func Lacks(ctx context.Context, text string) (counts, builds message.Message, err error) {
	d, err := Open(ctx, text, false)
	if err != nil {
		return counts, builds, err
	}
	if pg, ok := d.(*postgres.Database); ok {
		return pg.Lacks(ctx)
	}
	return counts, builds, nil
}

// Advises reports whether the server for a text of the form KIND=URL gives advice about indexes and executes SQL: see
// Open.
func Advises(text string) bool {
	k, _, err := split(text)
	return err == nil && k.Open != nil
}

// Reach checks that the server for a text of the form KIND=URL can be inspected; for Auto, there is nothing to check.
// Its errors are like those of Parse, or say why it can't be reached.
func Reach(ctx context.Context, text string) error {
	if text == Auto {
		return nil
	}
	i, err := Parse(text)
	if err != nil {
		return err
	}
	defer i.Close()
	return i.Begin(ctx)
}
