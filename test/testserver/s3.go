package testserver

// ObjectStore starts a server of Amazon S3's protocol that keeps objects in memory: gofakes3, built from a Go module of
// its own. It has one bucket, whose name is in Database, and accepts any credentials.
func ObjectStore(t TB) *Server {
	t.Helper()
	sp := &spec{name: "gofakes3",
		arguments: func(s *Server) []string { return []string{"-listen", s.Addr, "-bucket", s.Database} }}
	sp.prepare = func(*Server) (err error) {
		sp.binary, err = built("s3", ".")
		return err
	}
	return launch(t, sp, &Server{Database: "bench"})
}
