package testserver

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Redis starts a Redis that keeps nothing on disk.
func Redis(t TB, opts ...Option) *Server {
	t.Helper()
	o := collect(opts)
	return startRedis(t, &o, 1, nil)
}

func startRedis(t TB, o *options, ports int, more func(s *Server) []string) *Server {
	t.Helper()
	s := &Server{Password: o.password}
	return launch(t, &spec{
		name:   "Redis",
		binary: binary(t, "redis-server", "redis-server"),
		ports:  ports,
		prepare: func(s *Server) error {
			if !o.tls {
				return nil
			}
			return s.certify()
		},
		configure: func(s *Server) (file, content string) {
			lines := redisSettings(s, o)
			if more != nil {
				lines = append(lines, more(s)...)
			}
			return "redis.conf", strings.Join(append(lines, o.settings...), "\n") + "\n"
		},
		arguments: func(*Server) []string { return []string{"redis.conf"} },
		ready:     redisReady,
	}, s)
}

func redisSettings(s *Server, o *options) []string {
	lines := []string{"bind " + loopback, "dir " + s.Dir, `save ""`, "appendonly no", "protected-mode no", "maxclients 1000"}
	if o.tls {
		lines = append(lines, "port 0", fmt.Sprintf("tls-port %d", s.Port), "tls-auth-clients no",
			"tls-cert-file "+s.CAFile, "tls-key-file "+s.keyFile(), "tls-ca-cert-file "+s.CAFile)
	} else {
		lines = append(lines, fmt.Sprintf("port %d", s.Port))
	}
	if s.Password != "" {
		lines = append(lines, "requirepass "+s.Password)
	}
	return lines
}

func redisReady(s *Server) error {
	_, err := redisAsk(s, "PING")
	return err
}

// redisAsk sends one command of words and returns its answer as text.
func redisAsk(s *Server, command string) (string, error) {
	c := redis.NewClient(&redis.Options{
		Addr: s.Addr, Password: s.Password, TLSConfig: s.TLS, Protocol: 2, DisableIdentity: true, MaxRetries: -1, DialerRetries: 1, DialTimeout: time.Second,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
	defer c.Close()
	words := []any{}
	for word := range strings.FieldsSeq(command) {
		words = append(words, word)
	}
	return c.Do(context.Background(), words...).Text()
}
