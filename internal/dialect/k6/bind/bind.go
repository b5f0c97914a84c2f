// Package bind is the common base of the JavaScript modules: it exposes Go functions to scripts, reads their arguments,
// and converts values and exceptions between both languages.
//
// A panic in a module would end the whole process. Function therefore wraps every function, and turns errors and panics
// into exceptions that the script can catch.
package bind

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/grafana/sobek"
	"go.k6.io/k6/v2/js/modules"
	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/lib/fsext"

	"brunt/internal/dialect/k6/session"
	"brunt/internal/protocol"
)

// VU is a virtual user in the view of a module.
type VU struct {
	modules.VU
	Session *session.Session
	Run     *session.VU // the virtual user's handle in the run

	failure, fault *sobek.Object // the constructors Error and TypeError, before a script can replace them
	parse          sobek.Callable
	files          fsext.Fs // k6's file system for scripts, which includes the files of an archive
	folder         string   // the folder of the script
	bytes, date    *sobek.Object
	operations     map[string]int // numbers of operations in the record, by name
}

// NewVU returns the VU for a module's instance.
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

// Context returns the virtual user's current context. It is done when the iteration must end.
func (v *VU) Context() context.Context {
	if ctx := v.VU.Context(); ctx != nil {
		return ctx
	}
	return context.Background()
}

// Rest sleeps for a pause before the next attempt to connect, at most 1 s, if the virtual user starts its next
// iteration immediately after this one. Failures that take no time would otherwise repeat in a busy loop.
func (v *VU) Rest(ctx context.Context, pause time.Duration) {
	s := lib.GetScenarioState(v.Context())
	if s != nil && !strings.HasSuffix(s.Executor, "-arrival-rate") && s.Executor != "brunt-open" {
		protocol.Sleep(ctx, min(pause, time.Second))
	}
}

// Operation returns the record's number for the operation with this name.
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

// keptOperations is how many operation numbers a virtual user caches.
const keptOperations = 1024

// Initial reports whether the script is still being loaded, before any iteration.
func (v *VU) Initial() bool { return v.State() == nil }

// File reads a file of the user's: by its path relative to the working directory, or else relative to the script's
// folder. Files read while the script is loaded become part of an archive of the script.
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
	_, err = os.ReadFile(path) // for an error with the path that the user wrote
	return nil, err
}

// Func implements a function for scripts. Its result is converted to a JavaScript value (see VU.Value), its error to an
// exception.
type Func func(a *Args) (any, error)

// Function returns a function for scripts. Exceptions name it by name.
func (v *VU) Function(name string, f Func) sobek.Value {
	made := v.Runtime().ToValue(func(call sobek.FunctionCall) sobek.Value {
		result, err := v.call(name, f, call.Arguments)
		if err != nil {
			panic(v.Exception(err)) // this is how sobek throws
		}
		return result
	})
	if o, ok := made.(*sobek.Object); ok { // for stack traces, which would otherwise show Go's name
		_ = o.DefineDataProperty("name", v.Runtime().ToValue(name), sobek.FLAG_FALSE, sobek.FLAG_TRUE, sobek.FLAG_FALSE)
	}
	return made
}

func (v *VU) call(name string, f Func, values []sobek.Value) (result sobek.Value, err error) {
	defer func() {
		switch x := recover().(type) {
		case nil:
		case sobek.Value, *sobek.Exception, *sobek.InterruptedError, *sobek.StackOverflowError:
			panic(x) // exceptions and interrupts of the script itself are passed on
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

// Object returns an object with functions. Exceptions prefix their names with name.
func (v *VU) Object(name string, functions map[string]Func) *sobek.Object {
	o := v.Runtime().NewObject()
	for key, f := range functions {
		_ = o.Set(key, v.Function(name+"."+key, f)) // can't fail for a new object
	}
	return o
}

// Instance is a module for one virtual user. Its exports are made once, because k6 asks for them at every use of an
// imported name.
type Instance struct{ exports modules.Exports }

// Exports implements modules.Instance.
func (i *Instance) Exports() modules.Exports { return i.exports }

// NewInstance exports an object as the default, and its properties by their names.
func NewInstance(o *sobek.Object) *Instance {
	i := &Instance{modules.Exports{Default: o, Named: map[string]any{}}}
	for _, key := range o.Keys() {
		i.exports.Named[key] = o.Get(key)
	}
	return i
}

// Module returns a k6 module. Its instances export the object that exports returns for a virtual user.
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

// ArgumentError is the error for an invalid argument of a function.
type ArgumentError struct {
	Function string
	Text     string // what is wrong, and what is expected
}

// Error returns the error on one line.
func (e *ArgumentError) Error() string { return e.Function + ": " + e.Text }

// Exception returns a JavaScript Error for err, a TypeError for an invalid argument. It has the properties class (see
// protocol.Class) and code (the server's, or "").
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
