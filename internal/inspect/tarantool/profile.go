package tarantool

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"brunt/internal/record"
	"brunt/internal/render/message"
)

// profile is a sampled profile of Lua functions.
type profile struct {
	Samples int
	Sites   []site // most samples first
}

// site is a function, by the samples in which it was executed itself.
type site struct {
	Where   string // file:line of its definition
	Name    string // of the global function that is defined there; "" if there is none
	Samples int
}

// startProfile starts LuaJIT's profiler ("LuaJIT Profiler", jit.profile) with a sample each 10 ms of the process's CPU
// time. It stops by itself if it isn't heard of for half a minute.
const startProfile = `local p, fiber = require('jit.profile'), require('fiber')
local s = {n = 0, at = {}, beat = fiber.clock()}
package.loaded['brunt.profile'] = s
p.start('fi10', function(th, n)
	local at = p.dumpstack(th, 'pF;', -12)
	s.n = s.n + n
	s.at[at] = (s.at[at] or 0) + n
end)
fiber.create(function()
	while package.loaded['brunt.profile'] == s and s.beat + 30 > fiber.clock() do fiber.sleep(1) end
	if package.loaded['brunt.profile'] == s then package.loaded['brunt.profile'] = nil p.stop() end
end)`

// beatProfile keeps the profiler running.
const beatProfile = `local s = package.loaded['brunt.profile'] if s then s.beat = require('fiber').clock() end`

// endProfile stops the profiler, and returns the number of samples, the samples by site, and the names of global
// functions by site. A sample counts for the innermost function of its stack, which is the last, that isn't one of
// Tarantool's own.
const endProfile = `local s = package.loaded['brunt.profile']
if not s then return {samples = 0} end
package.loaded['brunt.profile'] = nil
require('jit.profile').stop()
local at, names, seen = {}, {}, {}
for stack, n in pairs(s.at) do
	local last
	for f in stack:gmatch('[^;]+') do
		if not f:match('^builtin/') and not f:match('^%[') and f:match(':%d+$') then last = f end
	end
	if last then at[last] = (at[last] or 0) + n end
end
local function walk(t, prefix, depth)
	if seen[t] then return end
	seen[t] = true
	for k, v in pairs(t) do
		if type(k) == 'string' then
			if type(v) == 'function' then
				local i = debug.getinfo(v, 'S')
				local where = i.short_src .. ':' .. i.linedefined
				if not names[where] or #names[where] > #prefix + #k then names[where] = prefix .. k end
			elseif type(v) == 'table' and depth > 0 and k ~= 'package' and k ~= '_G' then
				walk(v, prefix .. k .. '.', depth - 1)
			end
		end
	end
end
walk(_G, '', 1)
return {samples = s.n, at = at, names = names}`

// startProfile starts the profiler.
func (i *Inspector) startProfile(ctx context.Context) {
	i.queries++
	if _, err := i.session.Eval(ctx, startProfile); err != nil {
		i.miss(record.NewWarning("inspect-tarantool-profile", message.Text("user", userOf(i.target)),
			message.Text("error", err.Text)))
		return
	}
	i.profile = &profile{}
}

// beat keeps the profiler running.
func (i *Inspector) beat(ctx context.Context) {
	if i.profile != nil {
		i.queries++
		_, _ = i.session.Eval(ctx, beatProfile)
	}
}

// endProfile stops the profiler and returns what it found.
func (i *Inspector) endProfile(ctx context.Context) *profile {
	if i.session == nil {
		return nil
	}
	i.queries++
	values, err := i.session.Eval(ctx, endProfile)
	if err != nil || len(values) == 0 {
		return nil
	}
	m, _ := values[0].(map[string]any)
	out := &profile{Samples: int(number(m["samples"]))}
	at, _ := m["at"].(map[string]any)
	names, _ := m["names"].(map[string]any)
	for where, n := range at {
		if _, ok := n.(json.Number); !ok {
			continue
		}
		s := site{Where: where, Samples: int(number(n))}
		s.Name, _ = names[where].(string)
		out.Sites = append(out.Sites, s)
	}
	slices.SortFunc(out.Sites, func(a, b site) int {
		return cmp.Or(cmp.Compare(b.Samples, a.Samples), cmp.Compare(a.Where, b.Where))
	})
	return out
}
