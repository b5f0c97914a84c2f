package redis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"brunt/internal/inspect"
	"brunt/internal/protocol"
	"brunt/internal/server/connection"
)

// tuner is the inspect.Settings of Redis: CONFIG GET and CONFIG SET at all nodes, which a restart forgets.
type tuner struct{ clients []*client }

var _ inspect.Settings = (*tuner)(nil)

// Settings opens the settings of the servers at a URL; all nodes of a cluster if one of them is named.
func Settings(ctx context.Context, url string) (inspect.Settings, error) {
	targets, err := Form().Parse(url)
	if err == nil {
		err = connection.Only(targets[0], monitorOption, "db")
	}
	if err != nil {
		return nil, err
	}
	t := &tuner{}
	for k := 0; k < len(targets); k++ {
		c := &client{target: targets[k], asked: map[string]float64{}}
		if err := c.connect(ctx); err != nil {
			t.Close()
			return nil, fmt.Errorf("redis %s: %w", c.target.Address, err)
		}
		t.clients = append(t.clients, c)
		if len(targets) > 1 {
			continue
		}
		answer, _ := c.ask(ctx, "CLUSTER", "NODES") // refused by servers that aren't in a cluster
		text, _ := answer.(string)
		for _, address := range clusterNodes(text) {
			other := targets[0]
			other.Address = address
			targets = append(targets, other)
		}
	}
	return t, nil
}

// Read implements inspect.Settings. The nodes must agree.
func (t *tuner) Read(ctx context.Context, names []string) ([]inspect.Setting, error) {
	return inspect.ReadEach(names, func(name string) (out inspect.Setting, err error) {
		for k, c := range t.clients {
			answer, err := c.ask(ctx, "CONFIG", "GET", name)
			if err != nil {
				return out, c.clean(err)
			}
			pair, _ := answer.([]any)
			if len(pair) != 2 {
				return out, errors.New("the server has no such setting")
			}
			value, _ := pair[1].(string)
			if k > 0 && value != out.Value {
				return out, fmt.Errorf("it is %s at %s and %s at %s; make the nodes alike", out.Value,
					t.clients[0].target.Address, value, c.target.Address)
			}
			out = inspect.Setting{Name: name, Value: value}
		}
		return out, nil
	})
}

// Check implements inspect.Settings: it sets the settings to the values that they have. It refuses limits of memory at
// which Redis would evict keys at once.
func (t *tuner) Check(ctx context.Context, wanted []inspect.Setting) error {
	now, err := t.Read(ctx, inspect.SettingNames(wanted))
	if err == nil {
		err = t.Set(ctx, now)
	}
	if err != nil {
		return err
	}
	memory, err := t.Read(ctx, []string{"maxmemory", "maxmemory-policy"})
	if err != nil {
		return err
	}
	asked := false
	for _, s := range wanted {
		for k := range memory {
			if strings.EqualFold(s.Name, memory[k].Name) {
				memory[k].Value, asked = s.Value, true
			}
		}
	}
	limit := bytesOf(memory[0].Value)
	if !asked || limit == 0 || strings.EqualFold(memory[1].Value, "noeviction") {
		return nil
	}
	for _, c := range t.clients {
		answer, err := c.ask(ctx, "INFO", "memory")
		if err != nil {
			return c.clean(err)
		}
		text, _ := answer.(string)
		if used := parseInfo(text).number("used_memory"); used >= limit {
			return fmt.Errorf("maxmemory: %s uses %.0f bytes, so that it would evict keys at once, which can't be undone; "+
				"give it a higher limit, or maxmemory-policy: noeviction", c.target.Address, used)
		}
	}
	return nil
}

// bytesOf reads a size as Redis' configuration writes it: a number with a unit, whose b makes it binary.
func bytesOf(text string) float64 {
	text = strings.ToLower(text)
	for _, unit := range []struct {
		name string
		size float64
	}{{"kb", 1 << 10}, {"mb", 1 << 20}, {"gb", 1 << 30}, {"k", 1e3}, {"m", 1e6}, {"g", 1e9}, {"b", 1}, {"", 1}} {
		if number, ok := strings.CutSuffix(text, unit.name); ok {
			n, _ := strconv.ParseFloat(number, 64)
			return n * unit.size
		}
	}
	return 0
}

// Set implements inspect.Settings.
func (t *tuner) Set(ctx context.Context, to []inspect.Setting) error {
	return inspect.SetEach(safely(to), func(s inspect.Setting) error {
		var errs []error
		for _, c := range t.clients {
			if _, err := c.ask(ctx, "CONFIG", "SET", s.Name, s.Value); err != nil {
				errs = append(errs, c.clean(err))
			}
		}
		return errors.Join(errs...)
	})
}

// safely orders settings so that no limit of memory applies together with a policy that evicts keys if the two aren't
// set together: noeviction is set first, another policy last.
func safely(to []inspect.Setting) []inspect.Setting {
	place := func(s inspect.Setting) int {
		switch {
		case !strings.EqualFold(s.Name, "maxmemory-policy"):
			return 0
		case strings.EqualFold(s.Value, "noeviction"):
			return -1
		}
		return 1
	}
	return slices.SortedStableFunc(slices.Values(to), func(a, b inspect.Setting) int { return place(a) - place(b) })
}

// clean returns an error on one line, without secrets, with the server's address.
func (c *client) clean(err error) error {
	return fmt.Errorf("%s: %s", c.target.Address, protocol.Line(err.Error(), c.target.Password))
}

// Close implements inspect.Settings.
func (t *tuner) Close() {
	for _, c := range t.clients {
		c.close()
	}
}
