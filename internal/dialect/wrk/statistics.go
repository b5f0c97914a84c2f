package wrk

import (
	"time"

	lua "github.com/yuin/gopher-lua"
)

// statistics makes the metatable of the objects latency and requests of done.
func (t *thread) statistics() {
	l := t.state
	m := l.NewTypeMetatable(statsType)
	percentile := l.NewFunction(func(l *lua.LState) int {
		l.Push(lua.LNumber(checkStats(l).Percentile(float64(l.CheckNumber(2)))))
		return 1
	})
	l.SetField(m, "__index", l.NewFunction(func(l *lua.LState) int {
		s := checkStats(l)
		switch l.CheckString(2) {
		case "min":
			l.Push(lua.LNumber(s.Least))
		case "max":
			l.Push(lua.LNumber(s.Most))
		case "mean":
			l.Push(lua.LNumber(s.Mean()))
		case "stdev":
			l.Push(lua.LNumber(s.Stdev()))
		case "percentile":
			l.Push(percentile)
		default:
			l.Push(lua.LNil)
		}
		return 1
	}))
	l.SetField(m, "__call", l.NewFunction(func(l *lua.LState) int {
		value, count := checkStats(l).At(l.CheckInt(2) - 1)
		l.Push(lua.LNumber(value))
		l.Push(lua.LNumber(count))
		return 2
	}))
	l.SetField(m, "__len", l.NewFunction(func(l *lua.LState) int {
		l.Push(lua.LNumber(checkStats(l).Distinct()))
		return 1
	}))
}

func checkStats(l *lua.LState) *Stats {
	s, ok := l.CheckUserData(1).Value.(*Stats)
	if !ok {
		l.ArgError(1, "`stats' expected")
	}
	return s
}

// done calls the script's done, if it has it.
func (w *world) done(o *Outcome) error {
	t := w.main
	done, ok := t.state.GetGlobal("done").(*lua.LFunction)
	if !ok {
		return nil
	}
	object := func(s *Stats) lua.LValue {
		u := t.state.NewUserData()
		u.Value = s
		t.state.SetMetatable(u, t.state.GetTypeMetatable(statsType))
		return u
	}
	table := func(fields map[string]uint64) *lua.LTable {
		out := t.state.NewTable()
		for name, n := range fields {
			out.RawSetString(name, lua.LNumber(n))
		}
		return out
	}
	e := &o.Errors
	summary := table(map[string]uint64{"duration": uint64(o.Runtime / time.Microsecond), "requests": o.Complete,
		"bytes": o.Bytes})
	summary.RawSetString("errors", table(map[string]uint64{"connect": e.Connect, "read": e.Read, "write": e.Write,
		"status": e.Status, "timeout": e.Timeout}))
	_, err := t.call(done, 0, summary, object(o.Latency), object(o.Requests))
	return err
}
