package testserver

import "syscall"

// Program starts a server program that takes its address, host:port, as the last of its arguments.
// It serves once it accepts connections.
func Program(t TB, name, path string, args ...string) *Server {
	t.Helper()
	return launch(t, &spec{
		name:      name,
		binary:    path,
		ports:     1,
		death:     syscall.SIGKILL,
		stop:      syscall.SIGTERM,
		arguments: func(s *Server) []string { return append(args[:len(args):len(args)], s.Addr) },
		ready:     dialOnce,
	}, &Server{})
}
