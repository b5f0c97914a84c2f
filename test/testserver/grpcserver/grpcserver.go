// Package grpcserver starts a gRPC server in a test, with reflection and a health service.
package grpcserver

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	_ "embed"
	"errors"
	"io"
	"net"
	"net/http/httptest"
	"slices"
	"strings"

	"github.com/bufbuild/protocompile"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	_ "google.golang.org/grpc/encoding/gzip" // compresses as clients ask
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/reflection"
	"google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/reflection/grpc_reflection_v1alpha"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"brunt/test/testserver"
)

// EchoProto is the description of the service of Start.
//
//go:embed echo.proto
var EchoProto string

// Server is a gRPC server in this process, with a health service.
type Server struct {
	Addr  string
	Files *protoregistry.Files
	Set   *descriptorpb.FileDescriptorSet // of EchoProto and what it imports
}

// Option configures GRPC.
type Option func(*options)

type options struct {
	options  []grpc.ServerOption
	versions []string
	seen     func(metadata.MD)
}

// With adds options of grpc.NewServer.
func With(o ...grpc.ServerOption) Option {
	return func(g *options) { g.options = append(g.options, o...) }
}

// Reflection has reflection of the versions: v1, v1alpha. With none, there is no reflection.
func Reflection(versions ...string) Option {
	return func(g *options) { g.versions = versions }
}

// TLS has the server use TLS.
func TLS(c credentials.TransportCredentials) Option { return With(grpc.Creds(c)) }

// Seen has f called with the metadata of each call.
func Seen(f func(metadata.MD)) Option { return func(g *options) { g.seen = f } }

// Guarded lets only those ask the reflection service who send a value as metadata, and send it with nothing else.
func Guarded(name, value string) Option {
	return With(grpc.StreamInterceptor(func(srv any, s grpc.ServerStream, info *grpc.StreamServerInfo,
		handle grpc.StreamHandler) error {
		got := metadata.ValueFromIncomingContext(s.Context(), name)
		reflects := strings.HasPrefix(info.FullMethod, "/grpc.reflection.")
		if reflects && !slices.Equal(got, []string{value}) || !reflects && got != nil {
			return status.Error(codes.Unauthenticated, "who asks?")
		}
		return handle(srv, s)
	}))
}

// described resolves names of the server's own files, and of those that are linked.
type described struct{ files *protoregistry.Files }

// FindFileByPath implements protodesc.Resolver.
func (d described) FindFileByPath(path string) (protoreflect.FileDescriptor, error) {
	if f, err := d.files.FindFileByPath(path); err == nil {
		return f, nil
	}
	return protoregistry.GlobalFiles.FindFileByPath(path)
}

// FindDescriptorByName implements protodesc.Resolver.
func (d described) FindDescriptorByName(name protoreflect.FullName) (protoreflect.Descriptor, error) {
	if f, err := d.files.FindDescriptorByName(name); err == nil {
		return f, nil
	}
	return protoregistry.GlobalFiles.FindDescriptorByName(name)
}

// Start starts a gRPC server in this process on a free port of loopback. Its service is that of EchoProto.
func Start(t testserver.TB, all ...Option) *Server {
	t.Helper()
	o := &options{versions: []string{"v1", "v1alpha"}}
	for _, option := range all {
		option(o)
	}
	c := protocompile.Compiler{Resolver: protocompile.WithStandardImports(&protocompile.SourceResolver{
		Accessor: protocompile.SourceAccessorFromMap(map[string]string{"echo.proto": EchoProto})})}
	compiled, err := c.Compile(context.Background(), "echo.proto")
	if err != nil {
		t.Fatalf("echo.proto: %v", err)
	}
	g := &Server{Files: new(protoregistry.Files), Set: &descriptorpb.FileDescriptorSet{}}
	fd := compiled[0]
	for i := range fd.Imports().Len() {
		g.Set.File = append(g.Set.File, protodesc.ToFileDescriptorProto(fd.Imports().Get(i).FileDescriptor))
	}
	g.Set.File = append(g.Set.File, protodesc.ToFileDescriptorProto(fd))
	if g.Files, err = protodesc.NewFiles(g.Set); err != nil {
		t.Fatalf("echo.proto: %v", err)
	}
	made, _ := g.Files.FindFileByPath("echo.proto")
	s := grpc.NewServer(o.options...)
	e := &echo{seen: o.seen, service: made.Services().Get(0)}
	s.RegisterService(e.describe(), e)
	grpc_health_v1.RegisterHealthServer(s, health.NewServer())
	shown := reflection.ServerOptions{Services: s, DescriptorResolver: described{g.Files}}
	if slices.Contains(o.versions, "v1") {
		grpc_reflection_v1.RegisterServerReflectionServer(s, reflection.NewServerV1(shown))
	}
	if slices.Contains(o.versions, "v1alpha") {
		grpc_reflection_v1alpha.RegisterServerReflectionServer(s, reflection.NewServer(shown))
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("listen: %v", err)
	}
	g.Addr = l.Addr().String()
	go s.Serve(l)
	t.Cleanup(s.Stop)
	return g
}

// echo implements the service for dynamic messages.
type echo struct {
	service protoreflect.ServiceDescriptor
	seen    func(metadata.MD)
}

func (e *echo) describe() *grpc.ServiceDesc {
	d := &grpc.ServiceDesc{ServiceName: string(e.service.FullName()), HandlerType: (*any)(nil), Metadata: "echo.proto"}
	methods := e.service.Methods()
	for i := range methods.Len() {
		m := methods.Get(i)
		d.Streams = append(d.Streams, grpc.StreamDesc{StreamName: string(m.Name()), ServerStreams: true,
			ClientStreams: true, Handler: func(_ any, s grpc.ServerStream) error { return e.serve(m, s) }})
	}
	return d
}

func (e *echo) serve(m protoreflect.MethodDescriptor, s grpc.ServerStream) error {
	if md, ok := metadata.FromIncomingContext(s.Context()); ok && e.seen != nil {
		e.seen(md)
	}
	var first *dynamicpb.Message
	number := int64(0)
	for {
		in := dynamicpb.NewMessage(m.Input())
		err := s.RecvMsg(in)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if first == nil {
			first = in
		}
		number++
		if m.Name() == "Chat" {
			if err := s.SendMsg(in); err != nil {
				return err
			}
		}
		if !m.IsStreamingClient() {
			break
		}
	}
	switch m.Name() {
	case "Say":
		return s.SendMsg(first)
	case "Gather":
		return s.SendMsg(note(m.Output(), "gathered", number))
	case "Chat":
		return nil
	}
	return e.ask(m, first, s)
}

// ask answers the methods whose input is an Ask.
func (e *echo) ask(m protoreflect.MethodDescriptor, in *dynamicpb.Message, s grpc.ServerStream) error {
	value := func(name string) protoreflect.Value { return in.Get(m.Input().Fields().ByTextName(name)) }
	text := strings.Repeat("x", int(value("size").Int()))
	if code := codes.Code(value("code").Int()); code != codes.OK {
		return status.Error(code, value("text").String())
	}
	count := value("count").Int()
	if m.Name() == "End" {
		return s.SendMsg(note(m.Output(), text, count))
	}
	for i := int64(0); m.Name() == "Endless" || i < count; i++ {
		if err := s.SendMsg(note(m.Output(), text, i)); err != nil {
			return err
		}
		if m.Name() == "Endless" && i == 2 {
			<-s.Context().Done() // and never ends
			return s.Context().Err()
		}
	}
	return nil
}

func note(md protoreflect.MessageDescriptor, text string, number int64) proto.Message {
	m := dynamicpb.NewMessage(md)
	m.Set(md.Fields().ByTextName("text"), protoreflect.ValueOfString(text))
	m.Set(md.Fields().ByTextName("number"), protoreflect.ValueOfInt64(number))
	return m
}

// Certificates returns TLS configurations of a server in this process and of its clients, who trust it.
func Certificates(t testserver.TB) (server, client *tls.Config) {
	t.Helper()
	s := httptest.NewUnstartedServer(nil) // of its own certificate
	s.StartTLS()
	t.Cleanup(s.Close)
	pool := x509.NewCertPool()
	pool.AddCert(s.Certificate())
	return &tls.Config{Certificates: s.TLS.Certificates}, &tls.Config{RootCAs: pool, ServerName: "example.com"}
}
