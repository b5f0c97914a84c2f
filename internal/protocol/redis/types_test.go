package redis

import (
	"fmt"
	"strings"
	"testing"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"

	goredis "github.com/redis/go-redis/v9"
)

// Bytes that a command returned are stored again as they were, as go-redis sees them: whatever the type of the answer,
// in both versions of the protocol.
func TestValuesOfEachType(t *testing.T) {
	s := servers.Redis(t)
	client := goredis.NewClient(&goredis.Options{Addr: s.Addr})
	defer client.Close()
	var all strings.Builder
	for i := range 256 {
		all.WriteByte(byte(i))
	}
	set := func(value string) []any { return []any{"SET", "type:from", value} }
	for name, c := range map[string]struct {
		before, ask []any
		column      int
		want        string
	}{
		"empty":           {set(""), []any{"GET", "type:from"}, 0, ""},
		"every byte":      {set(all.String()), []any{"GET", "type:from"}, 0, all.String()},
		"like an answer":  {set("+OK\r\n$-1\r\n"), []any{"GET", "type:from"}, 0, "+OK\r\n$-1\r\n"},
		"long":            {set(strings.Repeat("x", 70_000)), []any{"GET", "type:from"}, 0, strings.Repeat("x", 70_000)},
		"like a number":   {set("1e400"), []any{"GET", "type:from"}, 0, "1e400"},
		"a negative zero": {set("-0"), []any{"GET", "type:from"}, 0, "-0"},
		"integer":         {set("9223372036854775806"), []any{"INCR", "type:from"}, 0, "9223372036854775807"},
		"negative":        {set("0"), []any{"DECRBY", "type:from", "9223372036854775807"}, 0, "-9223372036854775807"},
		"status":          {set("x"), []any{"TYPE", "type:from"}, 0, "string"},
		"double":          {[]any{"ZADD", "type:from", "-0.5", "m"}, []any{"ZSCORE", "type:from", "m"}, 0, "-0.5"},
		"infinite":        {[]any{"ZADD", "type:from", "inf", "m"}, []any{"ZSCORE", "type:from", "m"}, 0, "inf"},
		"below all":       {[]any{"ZADD", "type:from", "-inf", "m"}, []any{"ZSCORE", "type:from", "m"}, 0, "-inf"},
		"double as text": {[]any{"HSET", "type:from", "f", "0.1"},
			[]any{"HINCRBYFLOAT", "type:from", "f", "0.2"}, 0, "0.3"},
		"element of a list": {[]any{"RPUSH", "type:from", "a", "\x00\xff"},
			[]any{"LRANGE", "type:from", "0", "-1"}, 1, "\x00\xff"},
		"element of a map": {[]any{"HSET", "type:from", "f", "\r\n"}, []any{"HGETALL", "type:from"}, 1, "\r\n"},
		"element of a set": {[]any{"SADD", "type:from", "\x80"}, []any{"SMEMBERS", "type:from"}, 0, "\x80"},
		"number of many":   {set("x"), []any{"EXISTS", "type:from", "type:from"}, 0, "2"},
	} {
		var words []string
		for _, w := range c.ask {
			words = append(words, fmt.Sprint(w))
		}
		write := command("SET", "type:to", "$1")
		write.Params = []gen.Kind{gen.Null}
		p := program(capturing(command(words...), protocol.Capture{Column: c.column}), write)
		t.Run(name, func(t *testing.T) {
			tiers(t, protocol.Target{Address: s.Addr}, p, func(t *testing.T, conn protocol.Conn) {
				client.Del(t.Context(), "type:from", "type:to")
				if err := client.Do(t.Context(), c.before...).Err(); err != nil {
					t.Fatal(err)
				}
				read := do(t, conn, &p.Requests[0])
				if read.Class != protocol.OK {
					t.Fatalf("%+v", read.Failure)
				}
				if wrote := do(t, conn, &p.Requests[1], read.Captured[0].Clone()); wrote.Class != protocol.OK {
					t.Fatalf("%+v", wrote.Failure)
				}
				if got, err := client.Get(t.Context(), "type:to").Result(); err != nil || got != c.want {
					t.Errorf("%.60q was sent back, %v; want %.60q", got, err, c.want)
				}
			})
		})
	}
}
