// Package calls makes plans of gRPC calls from a command line: where the server is and how its methods are known, the
// messages, and how many calls are in flight over how many connections. brunt grpc and the dialect of ghz share it.
package calls

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"brunt/internal/plan"
	"brunt/internal/protocol/grpc/methods"
	"brunt/internal/server/target"
)

// Server says where a gRPC server is, and how its methods are known.
type Server struct {
	Address   string
	TLS       plan.TLS
	Way       plan.Way // how connections are opened
	Authority string   // :authority, if it isn't the address
	Protos    []string // .proto files; none, and no Sets either: the server is asked
	Folders   []string // in which they, and what they import, are looked for
	Sets      []string // descriptor sets
	Compress  bool     // by gzip
	// Reflection is the metadata with which the server is asked for its methods.
	Reflection map[string]string
	// ReflectPort is the port of the reflection service; "" means that of the address.
	ReflectPort string
}

// Target returns the target of plans.
func (s *Server) Target() plan.Target {
	t := plan.Target{Protocol: "grpc", Addresses: []string{s.Address}, TLS: s.TLS, Way: s.Way,
		Options: map[string]string{}}
	for name, value := range map[string]string{"proto": strings.Join(s.Protos, ","), "authority": s.Authority,
		"import": strings.Join(s.Folders, ","), "protoset": strings.Join(s.Sets, ","), "reflect_port": s.ReflectPort} {
		if value != "" {
			t.Options[name] = value
		}
	}
	for name, value := range s.Reflection {
		t.Options[methods.ReflectionPrefix+strings.ToLower(name)] = value
	}
	if s.Compress {
		t.Options["compression"] = "gzip"
	}
	return t
}

func (s *Server) source() methods.Source {
	return methods.Source{Protos: s.Protos, Folders: s.Folders, Sets: s.Sets}
}

// Method finds the description of a method. Errors are those of connecting to a plan's target.
func (s *Server) Method(ctx context.Context, name string) (protoreflect.MethodDescriptor, error) {
	p := &plan.Plan{Target: s.Target()}
	targets, err := target.Targets(p)
	if err != nil {
		return nil, &target.UsageError{Err: err}
	}
	service, _ := methods.SplitMethod(name)
	ctx = methods.With(ctx, s.Reflection)
	files, refused := s.source().Find(ctx, targets[0], s.Authority, []string{service})
	if refused != nil {
		return nil, target.NotConnected(p, refused)
	}
	md, err := methods.Method(files, name)
	if err != nil {
		return nil, &target.UsageError{Err: err}
	}
	return md, nil
}

// List writes the services of the server with their methods, and its health.
func (s *Server) List(ctx context.Context, w io.Writer) error {
	p := &plan.Plan{Target: s.Target()}
	targets, err := target.Targets(p)
	if err != nil {
		return &target.UsageError{Err: err}
	}
	source := s.source()
	var files *protoregistry.Files
	if len(source.Protos)+len(source.Sets) > 0 {
		if files, err = source.Read(ctx); err != nil {
			return &target.UsageError{Err: err}
		}
	} else {
		asking := methods.With(ctx, s.Reflection)
		_, names, err := methods.Reflect(asking, targets[0], s.Authority, nil)
		if err == nil {
			files, _, err = methods.Reflect(asking, targets[0], s.Authority, names)
		}
		if err != nil {
			return target.NotConnected(p, methods.Unreflected(targets[0], err))
		}
	}
	var b bytes.Buffer
	for _, name := range methods.Services(files) {
		fmt.Fprintln(&b, name)
		d, err := files.FindDescriptorByName(protoreflect.FullName(name))
		if sd, ok := d.(protoreflect.ServiceDescriptor); err == nil && ok {
			for i := range sd.Methods().Len() {
				fmt.Fprintf(&b, "  %s\n", signature(sd.Methods().Get(i)))
			}
		}
	}
	fmt.Fprintf(&b, "health: %s\n", methods.HealthOf(ctx, targets[0], s.Authority))
	_, err = w.Write(b.Bytes())
	return err
}

// signature returns a method as .proto files declare it.
func signature(m protoreflect.MethodDescriptor) string {
	side := func(streams bool, d protoreflect.MessageDescriptor) string {
		if streams {
			return "(stream " + string(d.FullName()) + ")"
		}
		return "(" + string(d.FullName()) + ")"
	}
	return string(m.Name()) + side(m.IsStreamingClient(), m.Input()) + " returns " +
		side(m.IsStreamingServer(), m.Output())
}

// FullName returns a method's name as plans have it, package.Service/Method. It may be written with a dot, or begin
// with a slash.
func FullName(method string) string {
	service, name := methods.SplitMethod(method)
	if name == "" {
		return method
	}
	return service + "/" + name
}

// Escape returns s as a template that expands to s itself.
func Escape(s string) string { return strings.ReplaceAll(s, "$", "$$") }

// Messages splits a text into messages: the elements of an array, or values one after the other.
func Messages(text []byte) (all []string, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	for {
		var one json.RawMessage
		err := d.Decode(&one)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, fmt.Errorf("message %d isn't JSON: %w", len(all)+1, err)
		}
		var list []json.RawMessage
		if one[0] != '[' {
			list = []json.RawMessage{one}
		} else if err := json.Unmarshal(one, &list); err != nil {
			return nil, err
		}
		for _, m := range list {
			if len(m) == 0 || m[0] != '{' {
				return nil, fmt.Errorf("message %d isn't an object", len(all)+1)
			}
			all = append(all, string(m))
		}
	}
}

// Spread returns over how many sessions a number of calls in flight are spread, with how many on each: over a number of
// connections, each with several streams. Event loops do that; over TLS, and in the library tier, each call in flight
// has a connection of its own.
func Spread(inFlight, connections int, secure bool, tier string) (sessions, pipeline int) {
	if secure || tier == plan.TierLibrary {
		return inFlight, 1
	}
	connections = min(max(connections, 1), inFlight)
	return connections, (inFlight + connections - 1) / connections
}

// Operation returns the operation that makes one of several calls, which differ in their messages, in turn.
func Operation(name string, all []plan.Step) plan.Operation {
	step := all[0]
	if len(all) > 1 {
		for i := range all {
			step.Variants = append(step.Variants, all[i].Request)
		}
		step.Pick = plan.Pick{By: plan.PickTurn}
	}
	return plan.Operation{Name: name, Weight: 1, Steps: []plan.Step{step}}
}
