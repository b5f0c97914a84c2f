// Package bind is what the JavaScript modules share: Go functions as scripts call them, their
// arguments, values in both languages, and exceptions.
//
// A panic in a module would end the whole process, so every function goes through Function, which
// turns whatever goes wrong into an exception that the script can catch.
package bind

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/grafana/sobek"
	"go.k6.io/k6/v2/js/modules"
	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/lib/fsext"

	"brunt/internal/k6x/session"
	"brunt/internal/protocol"
)

// VU is one virtual user, as a module sees it.
type VU struct {
	modules.VU
	Session *session.Session
	Run     *session.VU // what the run knows of it

	failure, fault *sobek.Object // the constructors Error and TypeError, before a script can replace them
	parse          sobek.Callable
	files          fsext.Fs // as k6 gives them to scripts; an archive's are in it
	folder         string   // the script's
	bytes, date    *sobek.Object
	operations     map[string]int // their numbers in the record, by name
}

// NewVU makes a module ready for a virtual user.
func NewVU(s *session.Session, vu modules.VU) *VU {
	global := vu.Runtime().GlobalObject()
	object := func(name string) *sobek.Object {
		o, _ := global.Get(name).(*sobek.Object)
		return o
	}
	v := &VU{VU: vu, Session: s, Run: s.VU(vu), failure: object("Error"), fault: object("TypeError"),
		bytes: object("Uint8Array"), date: object("Date"), operations: map[string]int{}}
	if env := vu.InitEnv(); env != nil && env.CWD != nil {
		v.files, v.folder = env.FileSystems["file"], env.CWD.Path
	}
	v.parse, _ = sobek.AssertFunction(object("JSON").Get("parse"))
	return v
}

// Context is the virtual user's present context. It ends when the iteration is to end.
func (v *VU) Context() context.Context {
	if ctx := v.VU.Context(); ctx != nil {
		return ctx
	}
	return context.Background()
}

// InLoop reports whether the virtual user begins its next iteration as soon as this one is over, so that
// failures that take no time would follow each other without end.
func (v *VU) InLoop() bool {
	state := lib.GetScenarioState(v.Context())
	return state != nil && !strings.HasSuffix(state.Executor, "-arrival-rate") && state.Executor != "brunt-open"
}

// Operation is the number in the record of the operation of a name.
func (v *VU) Operation(name string) int {
	n, ok := v.operations[name]
	if !ok {
		n = v.Session.Operation(name)
		if len(v.operations) < keptOperations {
			v.operations[name] = n
		}
	}
	return n
}

// keptOperations is how many names of operations a virtual user remembers the numbers of.
const keptOperations = 1024

// Initial reports whether the script is being read: it has no iteration yet.
func (v *VU) Initial() bool { return v.State() == nil }

// File reads a file of the user's: by its path as it stands, or from the script's folder. What is read
// while the script is read becomes a part of an archive of the script.
func (v *VU) File(path string) (data []byte, err error) {
	candidates := []string{path}
	if here, err := filepath.Abs(path); err == nil && here != path {
		candidates = []string{here, filepath.Join(v.folder, path)}
	}
	for _, name := range candidates {
		if v.files != nil {
			if data, err = fsext.ReadFile(v.files, name); err == nil {
				return data, nil
			}
		}
		if data, err = os.ReadFile(name); err == nil {
			return data, nil
		}
	}
	_, err = os.ReadFile(path) // in the words of the user's path
	return nil, err
}

// Func is a function as a script calls it: what it returns becomes a value (see VU.Value), an error an
// exception.
type Func func(a *Args) (any, error)

// Function makes a function for scripts. name is what exceptions call it.
func (v *VU) Function(name string, f Func) sobek.Value {
	made := v.Runtime().ToValue(func(call sobek.FunctionCall) sobek.Value {
		result, err := v.call(name, f, call.Arguments)
		if err != nil {
			panic(v.Exception(err)) // this is how sobek throws
		}
		return result
	})
	if o, ok := made.(*sobek.Object); ok { // the name is for stack traces; without it Go's would stand there
		_ = o.DefineDataProperty("name", v.Runtime().ToValue(name), sobek.FLAG_FALSE, sobek.FLAG_TRUE, sobek.FLAG_FALSE)
	}
	return made
}

func (v *VU) call(name string, f Func, values []sobek.Value) (result sobek.Value, err error) {
	defer func() {
		switch x := recover().(type) {
		case nil:
		case sobek.Value, *sobek.Exception, *sobek.InterruptedError, *sobek.StackOverflowError:
			panic(x) // exceptions and ends of the script itself, on their way
		default:
			err = fmt.Errorf("%s: a fault of brunt's: %v", name, x)
		}
	}()
	a := &Args{VU: v, name: name, values: values}
	got, err := f(a)
	if err == nil {
		err = a.Err()
	}
	if err != nil {
		return nil, err
	}
	return v.Value(got), nil
}

// Object makes an object of functions. name is what exceptions call it.
func (v *VU) Object(name string, functions map[string]Func) *sobek.Object {
	o := v.Runtime().NewObject()
	for key, f := range functions {
		_ = o.Set(key, v.Function(name+"."+key, f)) // a fresh object takes everything
	}
	return o
}

// Instance is a module for one virtual user, whose exports are made once: k6 asks for them at every
// use of a name imported.
type Instance struct{ exports modules.Exports }

// Exports implements modules.Instance.
func (i *Instance) Exports() modules.Exports { return i.exports }

// NewInstance exports an object, as default and by the names of what it holds.
func NewInstance(o *sobek.Object) *Instance {
	i := &Instance{modules.Exports{Default: o, Named: map[string]any{}}}
	for _, key := range o.Keys() {
		i.exports.Named[key] = o.Get(key)
	}
	return i
}

// Module returns a module of k6 whose instances hold what exports returns for a virtual user.
func Module(s *session.Session, exports func(vu *VU) *sobek.Object) modules.Module {
	return &module{s, exports}
}

type module struct {
	session *session.Session
	make    func(vu *VU) *sobek.Object
}

// NewModuleInstance implements modules.Module.
func (m *module) NewModuleInstance(vu modules.VU) modules.Instance {
	return NewInstance(m.make(NewVU(m.session, vu)))
}

var (
	_ modules.Module   = (*module)(nil)
	_ modules.Instance = (*Instance)(nil)
)

// ArgumentError says which argument of which function isn't what it must be.
type ArgumentError struct {
	Function string
	Text     string // what is wrong, and what is expected
}

// Error returns one line.
func (e *ArgumentError) Error() string { return e.Function + ": " + e.Text }

// Exception makes an Error of JavaScript. It has the properties class (see protocol.Class) and code
// (the server's, or ""). A wrong argument is a TypeError.
func (v *VU) Exception(err error) *sobek.Object {
	var thrown *sobek.Exception
	if errors.As(err, &thrown) {
		if o, ok := thrown.Value().(*sobek.Object); ok {
			return o
		}
	}
	class, code, constructor := protocol.Client, "", v.failure
	var failure *protocol.Error
	var argument *ArgumentError
	switch {
	case errors.As(err, &failure):
		class, code = failure.Class, failure.Code
	case errors.As(err, &argument):
		constructor = v.fault
	}
	o, bad := v.Runtime().New(constructor, v.Runtime().ToValue(err.Error()))
	if bad != nil { // a script has broken its own Error
		o = v.Runtime().NewTypeError("%s", err.Error())
	}
	_ = o.Set("class", class.String())
	_ = o.Set("code", code)
	return o
}

// Failed is a reply's failure as an error, nil if there is none. function is prefixed.
func Failed(function string, f *protocol.Failure) error {
	if f.Class == protocol.OK {
		return nil
	}
	return fmt.Errorf("%s: %w", function, &protocol.Error{Class: f.Class, Code: f.Code, Text: f.Text, Fatal: f.Fatal})
}
