package wrk

import (
	"runtime/metrics"
	"strings"
	"time"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/pm"
)

// mostMemory is how much more memory than before a script a process may have, in bytes. LuaJIT has hardly more.
const mostMemory = 1 << 30

// glance is the time between two looks at a script's time and memory.
const glance = 20 * time.Millisecond

// mostText is how long a text may be that one function of Lua's libraries makes, in bytes. Such a function isn't ended
// while it runs.
const mostText = 1 << 29

// mostOnStack is how many values a script may have on its stack: table.concat puts a whole table there.
const mostOnStack = 1 << 21

// look ends the call under way if it has taken too long, or if the script uses too much memory.
func (t *thread) look() {
	t.until.Lock()
	defer t.until.Unlock()
	t.armed = false
	if t.since.IsZero() {
		return
	}
	full := heap() > t.world.before+t.world.memory
	if !full && time.Since(t.since) < t.world.patience {
		t.armed = true
		t.watch.Reset(glance)
		return
	}
	t.full = full
	t.end()
}

// heap returns how much memory the objects of this process take, in bytes.
func heap() uint64 {
	one := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(one)
	return one[0].Value.Uint64()
}

// bounds refuses texts that are too long before the libraries make them.
func (t *thread) bounds() {
	t.bounded("string", "rep", func(l *lua.LState) bool {
		return product(len(l.CheckString(1)), max(l.CheckInt(2), 0)) > mostText
	})
	t.bounded("string", "gsub", replacesTooMuch)
	t.bounded("table", "concat", func(l *lua.LState) bool {
		table, sum := l.CheckTable(1), 0
		n := table.Len()
		for i := 1; i <= n && sum <= mostText; i++ {
			if text, ok := table.RawGetInt(i).(lua.LString); ok {
				sum += len(text)
			}
		}
		return sum+product(n, len(l.OptString(2, ""))) > mostText
	})
}

// bounded makes a function of a library fail if it would need too much memory.
func (t *thread) bounded(library, name string, tooMuch func(l *lua.LState) bool) {
	plain, ok := t.state.GetField(t.state.GetGlobal(library), name).(*lua.LFunction)
	if !ok {
		return
	}
	t.state.SetField(t.state.GetGlobal(library), name, t.state.NewFunction(func(l *lua.LState) int {
		if tooMuch(l) {
			l.RaiseError("not enough memory")
		}
		return plain.GFunction(l)
	}))
}

// product returns the product of two numbers that aren't negative, or a number above mostText if it is.
func product(a, b int) int {
	if b > 0 && a > mostText/b {
		return mostText + 1
	}
	return a * b
}

// mostCopied is how many bytes string.gsub may copy, which copies the whole text for each replacement.
const mostCopied = 1 << 36

// replacesTooMuch reports whether string.gsub would make a text that is too long, or take too long for it. It counts
// what is replaced only if that may be so.
func replacesTooMuch(l *lua.LState) bool {
	text, pattern, by := l.CheckString(1), l.CheckString(2), ""
	if s, ok := l.Get(3).(lua.LString); ok {
		by = string(s)
	}
	captured := product(strings.Count(by, "%"), len(text))
	if captured+product(len(text)+1, len(by)) <= mostText && len(text) < mostCopied/(len(text)+1) {
		return false
	}
	all, err := pm.Find(pattern, []byte(text), 0, l.OptInt(4, -1))
	return err == nil && (captured+product(len(all), len(by)) > mostText || len(all) > mostCopied/(len(text)+1))
}
