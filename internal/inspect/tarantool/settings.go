package tarantool

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"brunt/internal/base/secret"
	"brunt/internal/inspect"
	"brunt/internal/protocol/iproto"
)

// tuner is the inspect.Settings of Tarantool: fields of box.cfg. It needs the right to evaluate programs.
type tuner struct{ session *iproto.Session }

var _ inspect.Settings = (*tuner)(nil)

// Settings opens the settings of the instance at a URL.
func Settings(ctx context.Context, url string) (inspect.Settings, error) {
	i, err := New(url)
	if err != nil {
		return nil, err
	}
	s, failed := iproto.OpenSession(ctx, i.target)
	if failed != nil {
		return nil, fmt.Errorf("%s: %s", i.Name(), secret.Text(secret.Redact(failed.Text, []string{i.target.Password})))
	}
	return &tuner{s}, nil
}

// growing are the settings that can be raised, but not lowered again ("Configuration parameters" in Tarantool's
// manual).
var growing = []string{"memtx_memory", "vinyl_memory"}

// readSetting returns a field of box.cfg as a text, or nothing. setSetting gives it a value of the type that it has,
// and gives back its value before if there is a third argument.
const (
	readSetting = `local v = box.cfg[...]
if type(v) == 'number' and v == math.floor(v) then return string.format('%d', v) end
if type(v) ~= 'nil' and type(v) ~= 'table' then return tostring(v) end`
	setSetting = `local name, text, back = ...
local kind, value = type(box.cfg[name]), text
if kind == 'number' then value = assert(tonumber(text), 'not a number') end
if kind == 'boolean' then value = text == 'true' end
local before = box.cfg[name]
box.cfg{[name] = value}
if back then box.cfg{[name] = before} end`
)

// Read implements inspect.Settings.
func (t *tuner) Read(ctx context.Context, names []string) ([]inspect.Setting, error) {
	return inspect.ReadEach(names, func(name string) (s inspect.Setting, err error) {
		values, failed := t.session.Eval(ctx, readSetting, name)
		if failed != nil {
			return s, plainError(failed)
		}
		text, ok := "", false
		if len(values) > 0 {
			text, ok = values[0].(string)
		}
		if !ok {
			return s, errors.New("box.cfg has no such setting, or it isn't set, so that it couldn't be set back")
		}
		return inspect.Setting{Name: name, Value: text}, nil
	})
}

// Check implements inspect.Settings: it sets the fields and sets them back within one request each, since Tarantool
// takes the values that fields have even if it can't change them.
func (t *tuner) Check(ctx context.Context, wanted []inspect.Setting) error {
	for _, s := range wanted {
		if slices.Contains(growing, s.Name) {
			return fmt.Errorf("%s: it can't be lowered again while the server runs; compare it by a step matrix that restarts "+
				"the server", s.Name)
		}
	}
	if _, err := t.Read(ctx, inspect.SettingNames(wanted)); err != nil {
		return err
	}
	return t.set(ctx, wanted, "back")
}

// Set implements inspect.Settings.
func (t *tuner) Set(ctx context.Context, to []inspect.Setting) error { return t.set(ctx, to) }

func (t *tuner) set(ctx context.Context, to []inspect.Setting, more ...string) error {
	return inspect.SetEach(to, func(s inspect.Setting) error {
		_, err := t.session.Eval(ctx, setSetting, append([]string{s.Name, s.Value}, more...)...)
		return plainError(err)
	})
}

// Close implements inspect.Settings.
func (t *tuner) Close() { t.session.Close() }
