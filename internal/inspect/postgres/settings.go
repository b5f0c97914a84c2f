package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"brunt/internal/base/sqltext"
	"brunt/internal/inspect"

	"github.com/jackc/pgx/v5/pgconn"
)

// tuner is the inspect.Settings of PostgreSQL: ALTER SYSTEM, and a reload of the configuration. Each method opens a
// session, which sees what new sessions see.
type tuner struct {
	config *pgconn.Config
	wait   time.Duration // at most, until the server has read its configuration
}

var _ inspect.Settings = (*tuner)(nil)

// Servers read their configuration at once, unless a file of it has an error: then they keep what they have.
const (
	reloadTimeout = 20 * time.Second
	reloadPause   = 5 * time.Millisecond
)

// Settings opens the settings of the server of a connection string.
func Settings(ctx context.Context, dsn string) (inspect.Settings, error) {
	d, err := Open(ctx, dsn)
	if err != nil {
		return nil, err
	}
	return &tuner{d.config, reloadTimeout}, nil
}

// open opens a session without the settings of the inspector's.
func (t *tuner) open(ctx context.Context) (*session, error) {
	s, err := connect(ctx, t.config)
	if err != nil {
		return nil, err
	}
	if _, err = s.plain(ctx, "reset all"); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// described is a setting in pg_settings.
type described struct {
	inspect.Setting
	context, source string
	alterable       bool // by this user
}

func (s *session) describe(ctx context.Context, name string) (d described, err error) {
	quoted := sqltext.QuoteText(strings.ToLower(name))
	may := "(select rolsuper from pg_roles where rolname = current_user)"
	if s.version >= 150000 {
		may = "has_parameter_privilege(name, 'alter system')"
	}
	r, err := s.query(ctx, "select current_setting(name) as value, context, source, "+may+
		" as may from pg_settings where lower(name) = "+quoted)
	if err == nil && len(r.rows) == 0 {
		err = errors.New("the server has no such setting")
	}
	if err != nil {
		return d, err
	}
	// What ALTER SYSTEM has set stands in a file of its own. Users who may not read that may not use ALTER SYSTEM, either.
	altered, err := s.text(ctx, "select count(*) from pg_file_settings where lower(name) = "+quoted+
		` and sourcefile like '%postgresql.auto.conf'`)
	if err != nil && !denied(err) {
		return d, err
	}
	return described{inspect.Setting{Name: name, Value: r.at(0, "value"), Unset: altered == "0"}, r.at(0, "context"),
		r.at(0, "source"), r.at(0, "may") == "t" && err == nil}, nil
}

// Read implements inspect.Settings.
func (t *tuner) Read(ctx context.Context, names []string) ([]inspect.Setting, error) {
	s, err := t.open(ctx)
	if err != nil {
		return nil, err
	}
	defer s.close()
	return inspect.ReadEach(names, func(name string) (inspect.Setting, error) {
		d, err := s.describe(ctx, name)
		return d.Setting, err
	})
}

// Check implements inspect.Settings.
func (t *tuner) Check(ctx context.Context, wanted []inspect.Setting) error {
	s, err := t.open(ctx)
	if err != nil {
		return err
	}
	defer s.close()
	_, err = inspect.ReadEach(inspect.SettingNames(wanted), func(name string) (inspect.Setting, error) {
		d, err := s.describe(ctx, name)
		switch {
		case err != nil:
		case d.context == "postmaster" || d.context == "internal":
			err = errors.New("it can't be changed while the server runs; compare it by a step matrix that restarts the server")
		case !d.alterable:
			err = fmt.Errorf("user %s may not change it by ALTER SYSTEM and read pg_file_settings; use a superuser",
				t.config.User)
		case slices.Contains([]string{"command line", "environment variable", "database", "user", "database user",
			"client"}, d.source):
			err = fmt.Errorf("its value is set by the %s, so that ALTER SYSTEM wouldn't change it", d.source)
		}
		return d.Setting, err
	})
	return err
}

// Set implements inspect.Settings. It returns when new sessions have the new configuration.
func (t *tuner) Set(ctx context.Context, to []inspect.Setting) error {
	s, err := t.open(ctx)
	if err != nil {
		return err
	}
	defer s.close()
	loaded, err := s.text(ctx, "select pg_conf_load_time()")
	if err != nil {
		return err
	}
	err = inspect.SetEach(to, func(x inspect.Setting) error {
		text := "alter system set " + sqltext.Quote(strings.ToLower(x.Name)) + " = " + sqltext.QuoteText(x.Value)
		if x.Unset {
			text = "alter system reset " + sqltext.Quote(strings.ToLower(x.Name))
		}
		_, err := s.plain(ctx, text)
		return err
	})
	if _, failed := s.plain(ctx, "select pg_reload_conf()"); failed != nil {
		return errors.Join(err, failed)
	}
	if err != nil {
		return err
	}
	return t.reloaded(ctx, loaded)
}

// reloaded waits until new sessions have another configuration than the one of a time.
func (t *tuner) reloaded(ctx context.Context, before string) error {
	for deadline := time.Now().Add(t.wait); ; time.Sleep(reloadPause) {
		now, err := t.loadTime(ctx)
		if err != nil || now != before {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("the server hasn't read its configuration within %v; see pg_file_settings for errors in its files",
				t.wait)
		}
	}
}

// loadTime returns when the configuration of new sessions was read.
func (t *tuner) loadTime(ctx context.Context) (string, error) {
	s, err := t.open(ctx)
	if err != nil {
		return "", err
	}
	defer s.close()
	return s.text(ctx, "select pg_conf_load_time()")
}

// Close implements inspect.Settings.
func (t *tuner) Close() {}
