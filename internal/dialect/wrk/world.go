package wrk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	lua "github.com/yuin/gopher-lua"

	"brunt/internal/load/gen"
	"brunt/internal/protocol/socket"
)

// patience is how long a function of a script may run.
const patience = 10 * time.Second

// world is a script at work: a main environment, which runs setup and done, and one for each thread. Environments
// exchange values only through thread:get and thread:set.
type world struct {
	file, text string
	url        *url.URL
	headers    [][2]string
	args       []string
	out        io.Writer
	patience   time.Duration
	memory     uint64 // see mostMemory
	seed       uint64
	before     uint64 // memory that the process used when the script began

	main    *thread
	threads []*thread
}

// thread is an environment of a script. Its sessions use it in turn.
type thread struct {
	world   *world
	number  int
	mu      sync.Mutex
	state   *lua.LState
	wrk     *lua.LTable
	addr    *lua.LUserData
	stopped atomic.Bool

	request, response, delay *lua.LFunction
	fixed                    []byte // the request, if it isn't made again each time
	batch                    int    // how many requests it holds

	watch *time.Timer // ends calls that don't return
	armed bool
	since time.Time // when the call began; zero: none is under way
	until sync.Mutex
	full  bool // the call was ended because of its memory
	end   context.CancelFunc
}

// names reports whether the script or its arguments contain a word.
func (w *world) names(word string) bool {
	return strings.Contains(w.text, word) ||
		slices.ContainsFunc(w.args, func(arg string) bool { return strings.Contains(arg, word) })
}

// begin runs the script in all environments, and setup and init for each thread.
func (w *world) begin(threads int) error {
	var err error
	w.before = heap()
	if w.main, err = w.environment(-1); err != nil {
		return err
	}
	for i := range threads {
		t, err := w.environment(i)
		if err != nil {
			return err
		}
		w.threads = append(w.threads, t)
		if err := w.introduce(t); err != nil {
			return err
		}
	}
	return nil
}

// introduce calls setup and init for a thread, and finds out which functions it has.
func (w *world) introduce(t *thread) error {
	t.wrk.RawSetString("thread", t.handle(t.state))
	if setup, ok := w.main.state.GetGlobal("setup").(*lua.LFunction); ok {
		if _, err := w.main.call(setup, 0, t.handle(w.main.state)); err != nil {
			return err
		}
	}
	t.hostHeader()
	if init, ok := t.state.GetGlobal("init").(*lua.LFunction); ok {
		args := t.state.NewTable()
		for i, a := range w.args {
			args.RawSetInt(i, lua.LString(a))
		}
		if _, err := t.call(init, 0, args); err != nil {
			return err
		}
	}
	once, err := t.format(nil, nil, nil, nil)
	if err != nil {
		return fmt.Errorf("%s: %w", w.file, err)
	}
	t.wrk.RawSetString("request", t.state.NewFunction(func(l *lua.LState) int {
		l.Push(lua.LString(once))
		return 1
	}))
	t.request, _ = t.state.GetGlobal("request").(*lua.LFunction)
	t.response, _ = t.state.GetGlobal("response").(*lua.LFunction)
	t.delay, _ = t.state.GetGlobal("delay").(*lua.LFunction)
	if t.request == nil {
		t.fixed = []byte(once)
	}
	return nil
}

// environment makes an environment and runs the script in it.
func (w *world) environment(number int) (*thread, error) {
	t := &thread{world: w, number: number, batch: 1}
	t.state = lua.NewState(lua.Options{RegistryMaxSize: mostOnStack, RegistryGrowStep: mostOnStack / 256})
	ctx, end := context.WithCancel(context.Background())
	t.state.SetContext(ctx)
	t.end = end
	t.watch = time.AfterFunc(time.Hour, t.look)
	t.watch.Stop()
	t.libraries()
	chunk, err := t.state.Load(strings.NewReader(w.text), w.file)
	if err != nil {
		return nil, fault(w.file, err)
	}
	_, err = t.call(chunk, 0)
	return t, err
}

// enter and leave enclose a call, so that it is ended if it doesn't return.
func (t *thread) enter() {
	t.until.Lock()
	t.since = time.Now()
	if !t.armed {
		t.armed = true
		t.watch.Reset(glance)
	}
	t.until.Unlock()
}

func (t *thread) leave() {
	t.until.Lock()
	t.since = time.Time{}
	t.until.Unlock()
}

// call calls a function. At most one result is wanted.
func (t *thread) call(f *lua.LFunction, results int, args ...lua.LValue) (lua.LValue, error) {
	t.enter()
	err := t.state.CallByParam(lua.P{Fn: f, NRet: results, Protect: true}, args...)
	t.leave()
	if err != nil {
		if t.state.Context().Err() != nil && t.full {
			return nil, fmt.Errorf("%s: the script uses more than %d MiB of memory; does it join or collect without end?: %w",
				t.world.file, t.world.memory>>20, fault("", err))
		}
		if t.state.Context().Err() != nil {
			return nil, fmt.Errorf("%s: a function has run for %s without returning; does it loop for ever?: %w",
				t.world.file, t.world.patience, fault("", err))
		}
		return nil, fault(t.world.file, err)
	}
	if results == 0 {
		return lua.LNil, nil
	}
	v := t.state.Get(-1)
	t.state.Pop(1)
	return v, nil
}

// fault is an error of Lua as one line. Most name the file and the line themselves.
func fault(file string, err error) error {
	text := err.Error()
	if api, ok := errors.AsType[*lua.ApiError](err); ok {
		text = strings.TrimSpace(api.Object.String())
		if api.Type == lua.ApiErrorSyntax {
			text = strings.Join(strings.Fields(text), " ")
		}
	}
	text, _, _ = strings.Cut(text, "\n")
	if file == "" || strings.HasPrefix(text, file) {
		return errors.New(text)
	}
	return errors.New(file + ": " + text)
}

// libraries gives an environment what scripts use: Lua's libraries without what starts programs, and the table wrk.
func (t *thread) libraries() {
	l := t.state
	for _, table := range []string{"os.execute", "os.exit", "os.setenv", "io.popen"} {
		library, name, _ := strings.Cut(table, ".")
		l.SetField(l.GetGlobal(library), name, l.NewFunction(func(l *lua.LState) int {
			l.RaiseError("%s isn't available: the script of a load starts no programs", table)
			return 0
		}))
	}
	write := func(l *lua.LState, from int, sep, end string) {
		var b strings.Builder
		for i := from; i <= l.GetTop(); i++ {
			if i > from {
				b.WriteString(sep)
			}
			b.WriteString(l.ToStringMeta(l.Get(i)).String())
		}
		_, _ = io.WriteString(t.world.out, b.String()+end)
	}
	l.SetGlobal("print", l.NewFunction(func(l *lua.LState) int { write(l, 1, "\t", "\n"); return 0 }))
	t.formatting()
	t.bounds()
	t.randomness()
	io := l.GetGlobal("io")
	l.SetField(io, "write", l.NewFunction(func(l *lua.LState) int { write(l, 1, "", ""); return 0 }))
	stdout := l.NewTable()
	stdout.RawSetString("write", l.NewFunction(func(l *lua.LState) int {
		write(l, 2, "", "")
		l.Push(l.Get(1))
		return 1
	}))
	for _, name := range []string{"flush", "setvbuf", "close"} {
		stdout.RawSetString(name, l.NewFunction(func(*lua.LState) int { return 0 }))
	}
	l.SetField(io, "stdout", stdout)
	if dir, _, ok := cutLast(t.world.file, "/"); ok {
		path := l.GetField(l.GetGlobal("package"), "path").String()
		l.SetField(l.GetGlobal("package"), "path", lua.LString(dir+"/?.lua;"+path))
	}
	t.types()
	t.table()
}

// randomness makes math.random a function of the plan's seed and of the thread, until the script calls math.randomseed.
// Its last number is included, unlike in gopher-lua.
func (t *thread) randomness() {
	library := t.state.GetGlobal("math")
	numbers := gen.NewStream(t.world.seed, "wrk", "math.random").At(uint64(t.number + 1))
	t.state.SetField(library, "random", t.state.NewFunction(func(l *lua.LState) int {
		low, high := int64(1), int64(0)
		switch l.GetTop() {
		case 0:
			l.Push(lua.LNumber(numbers.Float64()))
			return 1
		case 1:
			high = l.CheckInt64(1)
		default:
			low, high = l.CheckInt64(1), l.CheckInt64(2)
		}
		if low > high {
			l.ArgError(l.GetTop(), "interval is empty")
		}
		l.Push(lua.LNumber(numbers.Between(low, high)))
		return 1
	}))
	t.state.SetField(library, "randomseed", t.state.NewFunction(func(l *lua.LState) int {
		numbers = gen.NewStream(math.Float64bits(float64(l.CheckNumber(1))), "wrk", "math.randomseed").At(0)
		return 0
	}))
}

// formatting makes string.format print objects as tostring does, as LuaJIT's does.
func (t *thread) formatting() {
	library := t.state.GetGlobal("string")
	plain, ok := t.state.GetField(library, "format").(*lua.LFunction)
	if !ok {
		return
	}
	t.state.SetField(library, "format", t.state.NewFunction(func(l *lua.LState) int {
		args := []lua.LValue{l.Get(1)}
		for i := 2; i <= l.GetTop(); i++ {
			v := l.Get(i)
			if v.Type() == lua.LTUserData || v.Type() == lua.LTTable {
				v = l.ToStringMeta(v)
			}
			args = append(args, v)
		}
		l.Push(plain)
		for _, v := range args {
			l.Push(v)
		}
		l.Call(len(args), 1)
		return 1
	}))
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// table sets the global wrk.
func (t *thread) table() {
	l, u := t.state, t.world.url
	w := l.NewTable()
	t.wrk = w
	w.RawSetString("scheme", lua.LString(u.Scheme))
	w.RawSetString("host", lua.LString(u.Hostname()))
	if port := u.Port(); port != "" {
		w.RawSetString("port", lua.LString(port))
	}
	w.RawSetString("method", lua.LString("GET"))
	w.RawSetString("path", lua.LString(u.RequestURI()))
	headers := l.NewTable()
	for _, h := range t.world.headers {
		headers.RawSetString(h[0], lua.LString(h[1]))
	}
	w.RawSetString("headers", headers)
	w.RawSetString("format", l.NewFunction(func(l *lua.LState) int {
		text, err := t.format(l.Get(1), l.Get(2), l.Get(3), l.Get(4))
		if err != nil {
			l.RaiseError("%v", err)
		}
		l.Push(lua.LString(text))
		return 1
	}))
	w.RawSetString("lookup", l.NewFunction(t.lookup))
	w.RawSetString("connect", l.NewFunction(connects))
	l.SetGlobal("wrk", w)
	l.SetField(l.GetField(l.GetGlobal("package"), "loaded"), "wrk", w)
}

// hostHeader sets the header Host unless the script has.
func (t *thread) hostHeader() {
	headers, ok := t.wrk.RawGetString("headers").(*lua.LTable)
	if !ok || headers.RawGetString("Host") != lua.LNil {
		return
	}
	host := socket.WithoutZone(t.wrk.RawGetString("host").String())
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if port := t.wrk.RawGetString("port"); port != lua.LNil {
		host += ":" + port.String()
	}
	headers.RawSetString("Host", lua.LString(host))
}

// format is wrk.format: a request of what is given, and of the table wrk for what is nil.
func (t *thread) format(method, path, headers, body lua.LValue) (string, error) {
	pick := func(v lua.LValue, name string) lua.LValue {
		if v == nil || v == lua.LNil || v == lua.LFalse {
			return t.wrk.RawGetString(name)
		}
		return v
	}
	method, path, headers, body = pick(method, "method"), pick(path, "path"), pick(headers, "headers"), pick(body, "body")
	fields, ok := headers.(*lua.LTable)
	if !ok {
		return "", fmt.Errorf("wrk.format: the headers are a %s, not a table", headers.Type())
	}
	if fields.RawGetString("Host") == lua.LNil {
		if own, ok := t.wrk.RawGetString("headers").(*lua.LTable); ok {
			fields.RawSetString("Host", own.RawGetString("Host"))
		}
	}
	text := ""
	if body == lua.LNil || body == lua.LFalse {
		fields.RawSetString("Content-Length", lua.LNil)
	} else {
		text = body.String()
		fields.RawSetString("Content-Length", lua.LNumber(len(text)))
	}
	b := make([]byte, 0, 256+len(text))
	b = append(append(append(append(b, method.String()...), ' '), path.String()...), " HTTP/1.1\r\n"...)
	for name, value := fields.Next(lua.LNil); name != lua.LNil; name, value = fields.Next(name) { // in one order
		b = append(append(append(append(b, name.String()...), ": "...), value.String()...), "\r\n"...)
	}
	return string(append(append(b, "\r\n"...), text...)), nil
}

// lookup is wrk.lookup: the addresses of a host and a service.
func (t *thread) lookup(l *lua.LState) int {
	host, service := l.CheckString(1), l.CheckAny(2).String()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	out := l.NewTable()
	port, err := net.DefaultResolver.LookupPort(ctx, "tcp", service)
	if err == nil {
		var all []string
		if all, err = net.DefaultResolver.LookupHost(ctx, host); err == nil {
			for _, ip := range all {
				out.Append(address(l, net.JoinHostPort(ip, fmt.Sprint(port))))
			}
		}
	}
	if err != nil {
		l.RaiseError("wrk.lookup: %s:%s: %v", host, service, err)
	}
	l.Push(out)
	return 1
}

// connects is wrk.connect: whether an address takes connections.
func connects(l *lua.LState) int {
	a, ok := l.CheckUserData(1).Value.(string)
	if !ok {
		l.ArgError(1, "`addr' expected")
	}
	c, err := net.DialTimeout("tcp", a, 2*time.Second)
	if err == nil {
		c.Close()
	}
	l.Push(lua.LBool(err == nil))
	return 1
}

// The metatables of wrk's own types.
const (
	addrType   = "wrk.addr"
	threadType = "wrk.thread"
	statsType  = "wrk.stats"
)

func address(l *lua.LState, hostPort string) *lua.LUserData {
	u := l.NewUserData()
	u.Value = hostPort
	l.SetMetatable(u, l.GetTypeMetatable(addrType))
	return u
}

// types makes the metatables.
func (t *thread) types() {
	l := t.state
	addr := l.NewTypeMetatable(addrType)
	l.SetField(addr, "__tostring", l.NewFunction(func(l *lua.LState) int {
		l.Push(lua.LString(l.CheckUserData(1).Value.(string)))
		return 1
	}))
	threads := l.NewTypeMetatable(threadType)
	l.SetField(threads, "__index", l.NewFunction(t.index))
	l.SetField(threads, "__newindex", l.NewFunction(t.newIndex))
	t.statistics()
}

// handle returns the object of a thread for an environment.
func (t *thread) handle(l *lua.LState) *lua.LUserData {
	u := l.NewUserData()
	u.Value = t
	l.SetMetatable(u, l.GetTypeMetatable(threadType))
	return u
}

// index reads a member of a thread. The receiver is the environment that asks.
func (t *thread) index(l *lua.LState) int {
	other, ok := l.CheckUserData(1).Value.(*thread)
	if !ok {
		l.ArgError(1, "`thread' expected")
	}
	switch l.CheckString(2) {
	case "get":
		l.Push(l.NewFunction(func(l *lua.LState) int {
			name := l.CheckString(2)
			defer t.reach(other)()
			l.Push(transfer(l, other.state.GetGlobal(name), 0))
			return 1
		}))
	case "set":
		l.Push(l.NewFunction(func(l *lua.LState) int {
			name, value := l.CheckString(2), l.Get(3)
			defer t.reach(other)()
			other.state.SetGlobal(name, transfer(l, value, 0))
			return 0
		}))
	case "stop":
		l.Push(l.NewFunction(func(*lua.LState) int {
			other.stopped.Store(true)
			return 0
		}))
	case "addr":
		l.Push(other.address(l))
	default:
		l.Push(lua.LNil)
	}
	return 1
}

// reach locks another environment while this one runs. The function that it returns unlocks it.
func (t *thread) reach(other *thread) func() {
	if t == other {
		return func() {}
	}
	other.mu.Lock()
	return other.mu.Unlock
}

// address returns the address of a thread: what the script set, or the host's first one.
func (t *thread) address(l *lua.LState) lua.LValue {
	if t.addr == nil {
		port := t.world.url.Port()
		if port == "" {
			port = t.world.url.Scheme
		}
		all, err := net.LookupHost(t.world.url.Hostname())
		number, errPort := net.LookupPort("tcp", port)
		if err != nil || errPort != nil || len(all) == 0 {
			return lua.LNil
		}
		t.addr = address(t.state, net.JoinHostPort(all[0], fmt.Sprint(number)))
	}
	return address(l, t.addr.Value.(string))
}

// newIndex sets a thread's address.
func (t *thread) newIndex(l *lua.LState) int {
	other, ok := l.CheckUserData(1).Value.(*thread)
	if name := l.CheckString(2); !ok || name != "addr" {
		l.RaiseError("cannot set '%s' of a thread; thread:set changes a global of it", name)
	}
	given, ok := l.Get(3).(*lua.LUserData)
	if !ok {
		l.ArgError(3, "`addr' expected")
	}
	if _, ok := given.Value.(string); !ok {
		l.ArgError(3, "`addr' expected")
	}
	other.addr = given
	return 0
}

// maxDepth is how deep tables may be nested that environments exchange.
const maxDepth = 32

// transfer copies a value for another environment: booleans, numbers, strings and tables of them. l reports errors.
func transfer(l *lua.LState, v lua.LValue, depth int) lua.LValue {
	switch v := v.(type) {
	case *lua.LNilType, lua.LBool, lua.LNumber, lua.LString:
		return v
	case *lua.LTable:
		if depth == maxDepth {
			l.RaiseError("the table is nested too deeply for thread:get and thread:set")
		}
		out := l.NewTable()
		v.ForEach(func(key, value lua.LValue) {
			out.RawSet(transfer(l, key, depth+1), transfer(l, value, depth+1))
		})
		return out
	}
	l.RaiseError("cannot transfer '%s' to thread", v.Type().String())
	return nil
}
