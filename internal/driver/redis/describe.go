package redis

import (
	"context"
	"strings"

	"brunt/internal/driver"
)

// Describe asks for INFO.
func (d *Driver) Describe(ctx context.Context, t driver.Target) (driver.ServerInfo, error) {
	program := driver.Program{Requests: []driver.Request{{Verb: driver.Command, Words: []string{"INFO"}, Capture: []driver.Capture{{}}}}}
	ctx, cancel := t.Connecting(ctx)
	defer cancel()
	c, err := d.Dial(ctx, t, &program)
	if err != nil {
		return driver.ServerInfo{}, err
	}
	defer c.Close()
	var reply driver.Reply
	c.Do(ctx, &program.Requests[0], nil, &reply)
	if reply.Class != driver.OK {
		return driver.ServerInfo{}, &driver.Error{Class: reply.Class, Code: reply.Code, Text: "INFO: " + reply.Text}
	}
	return infoOf(string(reply.Captured[0].B)), nil
}

// infoOf reads INFO's "name:value" lines.
func infoOf(text string) driver.ServerInfo {
	all := make(map[string]string)
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			all[name] = value
		}
	}
	info := driver.ServerInfo{Product: "Redis", Version: all["redis_version"], Settings: make(map[string]string)}
	switch {
	case all["dragonfly_version"] != "":
		info.Product, info.Version = "Dragonfly", strings.TrimPrefix(all["dragonfly_version"], "df-v")
	case all["valkey_version"] != "":
		info.Product, info.Version = "Valkey", all["valkey_version"]
	}
	for _, name := range []string{"redis_mode", "maxmemory", "maxmemory_policy", "aof_enabled", "io_threads_active", "role", "connected_slaves"} {
		if v := all[name]; v != "" {
			info.Settings[name] = v
		}
	}
	return info
}
