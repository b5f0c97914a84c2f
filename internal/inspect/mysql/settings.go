package mysql

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"brunt/internal/base/sqltext"
	"brunt/internal/inspect"
)

// tuner is the inspect.Settings of MySQL and MariaDB: global variables, which a restart forgets.
type tuner struct{ session *session }

var _ inspect.Settings = (*tuner)(nil)

// Settings opens the settings of the server at a URL.
func Settings(ctx context.Context, url string) (inspect.Settings, error) {
	i, err := New(url)
	if err != nil {
		return nil, err
	}
	s, err := connect(ctx, i.target)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", i.Name(), err)
	}
	return &tuner{s}, nil
}

// Read implements inspect.Settings.
func (t *tuner) Read(ctx context.Context, names []string) ([]inspect.Setting, error) {
	return inspect.ReadEach(names, func(name string) (s inspect.Setting, err error) {
		r, err := t.session.query(ctx, "SHOW GLOBAL VARIABLES WHERE Variable_name = "+sqltext.QuoteText(name))
		if err == nil && len(r.rows) == 0 {
			err = errors.New("the server has no such global variable")
		}
		if err != nil {
			return s, err
		}
		return inspect.Setting{Name: name, Value: r.at(0, "Value")}, nil
	})
}

// Check implements inspect.Settings: it sets the variables to the values that they have.
func (t *tuner) Check(ctx context.Context, wanted []inspect.Setting) error {
	now, err := t.Read(ctx, inspect.SettingNames(wanted))
	if err != nil {
		return err
	}
	return t.Set(ctx, now)
}

// Set implements inspect.Settings.
func (t *tuner) Set(ctx context.Context, to []inspect.Setting) error {
	return inspect.SetEach(to, func(s inspect.Setting) error {
		value := sqltext.QuoteText(s.Value)
		if _, err := strconv.ParseFloat(s.Value, 64); err == nil {
			value = s.Value
		}
		return t.session.exec(ctx, "SET GLOBAL "+quoteName(s.Name)+" = "+value)
	})
}

// Close implements inspect.Settings.
func (t *tuner) Close() { t.session.close() }
