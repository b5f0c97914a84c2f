// Package methods finds out which methods a gRPC server has: from its reflection service (grpc.reflection.v1 or
// v1alpha), from .proto files, or from descriptor sets.
package methods

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bufbuild/protocompile"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/reflection/grpc_reflection_v1alpha"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	"brunt/internal/base/suggest"
	"brunt/internal/protocol"
	"brunt/internal/protocol/socket"
)

// Source says where the descriptions of methods come from: files, or the server's reflection service if there are none.
type Source struct {
	Protos  []string // .proto files
	Folders []string // in which they, and what they import, are looked for
	Sets    []string // files with a FileDescriptorSet, as protoc --descriptor_set_out --include_imports writes
}

// SourceOf returns the source that comma-separated lists name.
func SourceOf(protos, folders, sets string) Source {
	return Source{Protos: list(protos), Folders: list(folders), Sets: list(sets)}
}

// list splits a comma-separated list.
func list(text string) (all []string) {
	for one := range strings.SplitSeq(text, ",") {
		if one = strings.TrimSpace(one); one != "" {
			all = append(all, one)
		}
	}
	return all
}

// Health is the service with which servers tell their health. Its description is built in.
const Health = "grpc.health.v1.Health"

// Find returns the descriptions of services: those of the source, or of the server at t if it names no files.
func (s Source) Find(ctx context.Context, t protocol.Target, authority string, services []string) (
	*protoregistry.Files, *protocol.Error) {
	files, others := new(protoregistry.Files), slices.DeleteFunc(slices.Clone(services), isHealth)
	var err error
	switch {
	case len(s.Protos)+len(s.Sets) > 0:
		files, err = s.Read(ctx)
		if missing, ok := errors.AsType[*fs.PathError](err); ok {
			return nil, protocol.Bad("the file %s: %s", missing.Path, missing.Err)
		}
		if err != nil {
			return nil, protocol.Bad("%s", err.Error())
		}
	case len(others) > 0:
		if files, _, err = Reflect(ctx, t, authority, others); err != nil {
			return nil, Unreflected(t, err)
		}
	}
	if _, err := files.FindDescriptorByName(Health); err != nil && slices.ContainsFunc(services, isHealth) {
		if err := files.RegisterFile(grpc_health_v1.File_grpc_health_v1_health_proto); err != nil {
			return nil, protocol.Bad("%s", err.Error())
		}
	}
	return files, nil
}

func isHealth(service string) bool { return service == Health }

// Read compiles or reads the files.
func (s Source) Read(ctx context.Context) (*protoregistry.Files, error) {
	files := new(protoregistry.Files)
	for _, path := range s.Sets {
		b, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		set := new(descriptorpb.FileDescriptorSet)
		if err := proto.Unmarshal(b, set); err != nil || len(set.File) == 0 {
			return nil, fmt.Errorf("%s isn't a descriptor set; make one by protoc --include_imports --descriptor_set_out", path)
		}
		if err := register(files, set.File); err != nil {
			return nil, fmt.Errorf("%s: %w; protoc --include_imports adds what is imported", path, err)
		}
	}
	if len(s.Protos) == 0 {
		return files, nil
	}
	return files, s.compile(ctx, files)
}

// compile compiles the .proto files.
func (s Source) compile(ctx context.Context, files *protoregistry.Files) error {
	folders, names := slices.Clone(s.Folders), slices.Clone(s.Protos)
	for i, name := range names {
		if len(s.Folders) > 0 && exists(s.Folders, name) {
			continue
		}
		if _, err := os.Stat(name); err != nil {
			return fmt.Errorf("the file %s isn't there", name)
		}
		folder := filepath.Dir(name)
		for _, f := range s.Folders {
			if r, err := filepath.Rel(f, name); err == nil && filepath.IsLocal(r) {
				folder = f
			}
		}
		names[i], _ = filepath.Rel(folder, name)
		if !slices.Contains(folders, folder) {
			folders = append(folders, folder)
		}
	}
	c := protocompile.Compiler{Resolver: protocompile.WithStandardImports(
		&protocompile.SourceResolver{ImportPaths: folders})}
	compiled, err := c.Compile(ctx, names...)
	if err != nil {
		text := protocol.Line(err.Error(), "")
		if strings.Contains(text, "could not resolve path") || strings.Contains(text, "no such file") {
			text += "; name the folder that it is in by option import"
		}
		return errors.New(text)
	}
	var all []*descriptorpb.FileDescriptorProto
	seen := map[string]bool{}
	var add func(f protoreflect.FileDescriptor)
	add = func(f protoreflect.FileDescriptor) {
		if seen[f.Path()] {
			return
		}
		seen[f.Path()] = true
		for i := range f.Imports().Len() {
			add(f.Imports().Get(i).FileDescriptor)
		}
		all = append(all, protodesc.ToFileDescriptorProto(f))
	}
	for _, f := range compiled {
		add(f)
	}
	return register(files, all)
}

func exists(folders []string, name string) bool {
	return slices.ContainsFunc(folders, func(folder string) bool {
		_, err := os.Stat(filepath.Join(folder, name))
		return err == nil
	})
}

// register adds files in an order in which each follows what it imports.
func register(files *protoregistry.Files, all []*descriptorpb.FileDescriptorProto) error {
	by := map[string]*descriptorpb.FileDescriptorProto{}
	for _, f := range all {
		by[f.GetName()] = f
	}
	var add func(name string, depth int) error
	add = func(name string, depth int) error {
		if _, err := files.FindFileByPath(name); err == nil || depth > len(all) {
			return nil
		}
		f := by[name]
		if f == nil {
			known, err := protoregistry.GlobalFiles.FindFileByPath(name) // google/protobuf/…
			if err != nil {
				return fmt.Errorf("the imported file %s is missing", name)
			}
			return files.RegisterFile(known)
		}
		for _, d := range f.Dependency {
			if err := add(d, depth+1); err != nil {
				return err
			}
		}
		made, err := protodesc.FileOptions{AllowUnresolvable: true}.New(f, files)
		if err != nil {
			return err
		}
		return files.RegisterFile(made)
	}
	for _, f := range all {
		if err := add(f.GetName(), 0); err != nil {
			return err
		}
	}
	return nil
}

// Method finds a method, written package.Service/Method or package.Service.Method.
func Method(files *protoregistry.Files, name string) (protoreflect.MethodDescriptor, error) {
	service, method := SplitMethod(name)
	d, err := files.FindDescriptorByName(protoreflect.FullName(service))
	sd, ok := d.(protoreflect.ServiceDescriptor)
	if err != nil || !ok {
		all := Services(files)
		return nil, fmt.Errorf("there is no service %s; %s", service, suggest.Or(service, all,
			"there are "+strings.Join(all, ", ")))
	}
	if md := sd.Methods().ByName(protoreflect.Name(method)); md != nil {
		return md, nil
	}
	var all []string
	for i := range sd.Methods().Len() {
		all = append(all, string(sd.Methods().Get(i).Name()))
	}
	return nil, fmt.Errorf("the service %s has no method %s; %s", service, method, suggest.Or(method, all,
		"it has "+strings.Join(all, ", ")))
}

// SplitMethod returns the service and the method of a name.
func SplitMethod(name string) (service, method string) {
	name = strings.TrimPrefix(name, "/")
	at := strings.LastIndexByte(name, '/')
	if at < 0 {
		at = strings.LastIndexByte(name, '.')
	}
	if at < 0 {
		return name, ""
	}
	return name[:at], name[at+1:]
}

// Services returns the names of all services, sorted.
func Services(files *protoregistry.Files) (names []string) {
	files.RangeFiles(func(f protoreflect.FileDescriptor) bool {
		for i := range f.Services().Len() {
			names = append(names, string(f.Services().Get(i).FullName()))
		}
		return true
	})
	slices.Sort(names)
	return names
}

// Unknown is the status of a method that the server doesn't have.
const Unknown = codes.Code(12)

// dial opens a connection of grpc's own client, for what is asked outside of the load.
func dial(t protocol.Target, authority string) (*grpc.ClientConn, error) {
	secure := insecure.NewCredentials()
	if t.TLS != nil {
		secure = credentials.NewTLS(t.TLS.Clone())
	}
	options := []grpc.DialOption{grpc.WithTransportCredentials(secure), grpc.WithDisableServiceConfig(),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(64 << 20)),
		grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) {
			return socket.Dial(socket.With(ctx, t.Way), address)
		})}
	if to := socket.WithoutZone(t.Address); authority == "" && to != t.Address {
		authority = to
	}
	if authority != "" {
		options = append(options, grpc.WithAuthority(authority))
	}
	return grpc.NewClient("passthrough:///"+strings.ReplaceAll(t.Address, "%", "%25"), options...)
}

// HealthOf asks the server for its health (grpc.health.v1).
func HealthOf(ctx context.Context, t protocol.Target, authority string) string {
	ctx, cancel := t.Connecting(ctx)
	defer cancel()
	cc, err := dial(t, authority)
	if err != nil {
		return err.Error()
	}
	defer cc.Close()
	r, err := grpc_health_v1.NewHealthClient(cc).Check(ctx, &grpc_health_v1.HealthCheckRequest{})
	switch {
	case status.Code(err) == Unknown:
		return "unknown: the server has no health service"
	case err != nil:
		return "unknown: " + protocol.Line(status.Convert(err).Message(), "")
	}
	return r.Status.String()
}

// ReflectionPrefix is what the names of a target's options begin with that are metadata of questions to the reflection
// service.
const ReflectionPrefix = "reflect."

// With returns a context with metadata for Find and Reflect to ask the server with.
func With(ctx context.Context, values map[string]string) context.Context {
	if len(values) == 0 {
		return ctx
	}
	return metadata.NewOutgoingContext(ctx, metadata.New(values))
}

// Reflect asks the server for the files that describe services; with none, for the names of its services.
func Reflect(ctx context.Context, t protocol.Target, authority string, services []string) (files *protoregistry.Files,
	names []string, err error) {
	ctx, cancel := t.Connecting(ctx)
	defer cancel()
	cc, err := dial(t, authority)
	if err != nil {
		return nil, nil, err
	}
	defer cc.Close()
	a := &asking{ctx: ctx, cc: cc, by: map[string]*descriptorpb.FileDescriptorProto{}}
	names, err = a.services()
	if status.Code(err) == Unknown {
		a.alpha = true
		names, err = a.services()
	}
	if err != nil {
		return nil, nil, err
	}
	for _, s := range services {
		if !slices.Contains(names, s) {
			return nil, names, fmt.Errorf("the server has no service %s; %s", s, suggest.Or(s, names,
				"it has "+strings.Join(names, ", ")))
		}
		if err := a.symbol(s); err != nil {
			return nil, names, err
		}
	}
	files = new(protoregistry.Files)
	all := make([]*descriptorpb.FileDescriptorProto, 0, len(a.by))
	for _, f := range a.by {
		all = append(all, f)
	}
	return files, names, register(files, all)
}

// asking asks a reflection service, of version v1 or v1alpha, which are the same but for their names.
type asking struct {
	ctx   context.Context
	cc    *grpc.ClientConn
	alpha bool
	by    map[string]*descriptorpb.FileDescriptorProto
}

// ask sends one question.
func (a *asking) ask(q *grpc_reflection_v1.ServerReflectionRequest) (
	*grpc_reflection_v1.ServerReflectionResponse, error) {
	ctx, cancel := context.WithCancel(a.ctx)
	defer cancel()
	method := grpc_reflection_v1.ServerReflection_ServerReflectionInfo_FullMethodName
	if a.alpha {
		method = grpc_reflection_v1alpha.ServerReflection_ServerReflectionInfo_FullMethodName
	}
	s, err := a.cc.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, method)
	if err != nil {
		return nil, err
	}
	if err := s.SendMsg(q); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	_ = s.CloseSend()
	r := new(grpc_reflection_v1.ServerReflectionResponse)
	if err := s.RecvMsg(r); err != nil {
		return nil, err
	}
	if e := r.GetErrorResponse(); e != nil {
		return nil, status.Error(codes.Code(e.ErrorCode), e.ErrorMessage)
	}
	return r, nil
}

func (a *asking) services() (names []string, err error) {
	r, err := a.ask(&grpc_reflection_v1.ServerReflectionRequest{
		MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_ListServices{ListServices: "*"}})
	if err != nil {
		return nil, err
	}
	for _, s := range r.GetListServicesResponse().GetService() {
		names = append(names, s.Name)
	}
	slices.Sort(names)
	return names, nil
}

func (a *asking) symbol(name string) error {
	r, err := a.ask(&grpc_reflection_v1.ServerReflectionRequest{
		MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: name}})
	if err != nil {
		return err
	}
	return a.keep(r)
}

// keep keeps the files of an answer and asks for those that they import.
func (a *asking) keep(r *grpc_reflection_v1.ServerReflectionResponse) error {
	var missing []string
	for _, b := range r.GetFileDescriptorResponse().GetFileDescriptorProto() {
		f := new(descriptorpb.FileDescriptorProto)
		if err := proto.Unmarshal(b, f); err != nil {
			return fmt.Errorf("the server's description of its services can't be read: %w", err)
		}
		a.by[f.GetName()] = f
		missing = append(missing, f.Dependency...)
	}
	for _, name := range missing {
		if a.by[name] != nil {
			continue
		}
		r, err := a.ask(&grpc_reflection_v1.ServerReflectionRequest{
			MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_FileByFilename{FileByFilename: name}})
		if err == nil {
			err = a.keep(r)
		}
		if err != nil && a.by[name] == nil {
			if _, known := protoregistry.GlobalFiles.FindFileByPath(name); known == nil {
				continue
			}
			return err
		}
	}
	return nil
}

// Unreflected explains why a server's methods aren't known.
func Unreflected(t protocol.Target, err error) *protocol.Error {
	text := protocol.Line(status.Convert(err).Message(), "")
	if status, _, ok := strings.Cut(text, "; transport: received unexpected content-type"); ok { // a proxy's page
		text = status + "; does a gRPC server run there, or behind it?"
	}
	var unverified *tls.CertificateVerificationError
	switch {
	case status.Code(err) == Unknown:
		return protocol.Bad("the server at %s has no reflection: give its .proto files by option proto, or a descriptor set "+
			"by option protoset", t.Address)
	case errors.As(err, &unverified), status.Code(err) == codes.Unavailable, status.Code(err) == codes.DeadlineExceeded:
		return protocol.Unconnected(fmt.Errorf("can't ask %s for its methods: %s", t.Address, text))
	}
	return protocol.Bad("the methods of %s: %s", t.Address, text)
}
