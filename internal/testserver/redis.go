package testserver

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"
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
	if s.TLS != nil {
		return dialOnce(s)
	}
	answer, err := redisAsk(s, "PING")
	if err != nil {
		return err
	}
	if answer != "+PONG" {
		return errors.New(answer)
	}
	return nil
}

// redisAsk sends one inline command and returns the answer's lines up to a bulk's end, without
// the bulk's length.
func redisAsk(s *Server, command string) (string, error) {
	c, err := net.DialTimeout("tcp", s.Addr, time.Second)
	if err != nil {
		return "", err
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(5 * time.Second))
	r := bufio.NewReader(c)
	if s.Password != "" {
		if line, err := askLine(c, r, "AUTH "+s.Password); err != nil || line != "+OK" {
			return "", errors.Join(err, errors.New("AUTH: "+line))
		}
	}
	line, err := askLine(c, r, command)
	if err != nil || !strings.HasPrefix(line, "$") {
		return line, err
	}
	var length int
	if _, err := fmt.Sscanf(line, "$%d", &length); err != nil || length < 0 {
		return "", err
	}
	body := make([]byte, 0, length)
	for len(body) < length {
		b, err := r.ReadByte()
		if err != nil {
			return "", err
		}
		body = append(body, b)
	}
	return string(body), nil
}

func askLine(c net.Conn, r *bufio.Reader, command string) (string, error) {
	if _, err := c.Write([]byte(command + "\r\n")); err != nil {
		return "", err
	}
	line, err := r.ReadString('\n')
	return strings.TrimRight(line, "\r\n"), err
}
