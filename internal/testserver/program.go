package testserver

// Program starts a server program that takes its address, host:port, as the last of its arguments.
// It serves once it accepts connections.
func Program(t TB, name, path string, args ...string) *Server {
	t.Helper()
	return launch(t, &spec{
		name:      name,
		binary:    path,
		arguments: func(s *Server) []string { return append(args[:len(args):len(args)], s.Addr) },
	}, &Server{})
}
