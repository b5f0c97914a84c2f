package testserver

import (
	encoding "encoding/binary"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Cassandra starts an Apache Cassandra 5 of one node, from Maven's artifacts. With the option Password it requires
// authentication; the superuser is "cassandra" with the password "cassandra", regardless of the option's value.
func Cassandra(t TB, opts ...Option) *Server {
	t.Helper()
	o := collect(opts)
	var files []string
	s := &Server{}
	if o.password != "" {
		s.User, s.Password = "cassandra", "cassandra"
	}
	return launch(t, &spec{
		name:   "Cassandra",
		binary: binary(t, "java", "openjdk-17-jre-headless"),
		ports:  2,
		stop:   syscall.SIGKILL, // an orderly stop drains for seconds
		prepare: func(s *Server) (err error) {
			if _, err = s.write("logback.xml", cassandraLog); err == nil {
				files, err = artifacts("cassandra")
			}
			return err
		},
		configure: configureCassandra,
		arguments: func(s *Server) []string { return cassandraArguments(s, strings.Join(files, ":")) },
		ready:     cassandraReady,
	}, s)
}

const cassandraLog = `<configuration><appender name="out" class="ch.qos.logback.core.ConsoleAppender">` +
	`<encoder><pattern>%level %msg%n</pattern></encoder></appender><root level="WARN"><appender-ref ref="out"/></root></configuration>`

func configureCassandra(s *Server) (file, content string) {
	authenticator := "AllowAllAuthenticator"
	if s.User != "" {
		authenticator = "PasswordAuthenticator"
	}
	dir := func(name string) string { return filepath.Join(s.Dir, name) }
	lines := []string{
		"cluster_name: test", "partitioner: org.apache.cassandra.dht.Murmur3Partitioner", "endpoint_snitch: SimpleSnitch",
		"num_tokens: 1",
		"listen_address: " + s.Host, "rpc_address: " + s.Host, "start_native_transport: true",
		fmt.Sprint("native_transport_port: ", s.Port), fmt.Sprint("storage_port: ", s.ports[1].port),
		"seed_provider:", "  - class_name: org.apache.cassandra.locator.SimpleSeedProvider",
		fmt.Sprintf("    parameters: [{seeds: '%s:%d'}]", s.Host, s.ports[1].port),
		"data_file_directories: [" + dir("data") + "]", "commitlog_directory: " + dir("commitlog"), "hints_directory: " +
			dir("hints"),
		"saved_caches_directory: " + dir("caches"), "cdc_raw_directory: " + dir("cdc"),
		"commitlog_sync: periodic", "commitlog_sync_period: 10s", "commitlog_disk_access_mode: legacy",
		"authenticator: " + authenticator, "auto_snapshot: false", "disk_failure_policy: stop",
		"concurrent_reads: 8", "concurrent_writes: 8", "memtable_heap_space: 64MiB", "memtable_offheap_space: 64MiB",
		"key_cache_size: 8MiB", "file_cache_size: 32MiB", "networking_cache_size: 16MiB",
	}
	return "cassandra.yaml", strings.Join(lines, "\n") + "\n"
}

// cassandraArguments returns the JVM's arguments, which open the internal packages that Cassandra needs.
func cassandraArguments(s *Server, path string) []string {
	args := []string{"-Xms256m", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"}
	for _, p := range []string{"java.base/jdk.internal.misc", "java.base/java.lang.ref", "java.base/java.lang.reflect",
		"java.base/sun.nio.ch",
		"java.management/com.sun.jmx.remote.security", "java.rmi/sun.rmi.registry", "java.rmi/sun.rmi.server",
		"java.sql/java.sql", "jdk.unsupported/sun.misc"} {
		args = append(args, "--add-exports", p+"=ALL-UNNAMED")
	}
	for _, p := range []string{"java.base/java.lang.module", "java.base/jdk.internal.loader", "java.base/jdk.internal.ref",
		"java.base/jdk.internal.reflect",
		"java.base/jdk.internal.math", "java.base/jdk.internal.module", "java.base/jdk.internal.util.jar",
		"jdk.management/com.sun.management.internal",
		"java.base/java.io", "java.base/java.lang", "java.base/java.lang.reflect", "java.base/java.net", "java.base/java.nio",
		"java.base/java.util",
		"java.base/java.util.concurrent", "java.base/java.util.concurrent.atomic", "java.base/sun.nio.ch"} {
		args = append(args, "--add-opens", p+"=ALL-UNNAMED")
	}
	return append(args, "-Dcassandra.config=file://"+filepath.Join(s.Dir, "cassandra.yaml"),
		"-Dcassandra.storagedir="+s.Dir,
		"-Dlogback.configurationFile="+filepath.Join(s.Dir, "logback.xml"), "-Dcassandra-foreground=true",
		"-Dcassandra.ring_delay_ms=1", "-Dcassandra.skip_wait_for_gossip_to_settle=0",
		"-Dcassandra.superuser_setup_delay_ms=0",
		"-Dio.netty.tryReflectionSetAccessible=true", "-cp", path, "org.apache.cassandra.service.CassandraDaemon")
}

// Opcodes of the native protocol, version 4: each request and the response that it must get.
const (
	cqlStartup, cqlAuthenticate       = 1, 3
	cqlOptions, cqlSupported          = 5, 6
	cqlAuthResponse, cqlAuthenticated = 15, 16
)

// cassandraReady requests the server's options and, if it has users, signs in: the first user is created some time
// after the server begins to listen.
func cassandraReady(s *Server) error {
	c, err := net.DialTimeout("tcp", s.Addr, time.Second)
	if err != nil {
		return err
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(2 * time.Second))
	if err := askCassandra(c, cqlOptions, nil, cqlSupported); err != nil || s.User == "" {
		return err
	}
	version := "\x00\x01\x00\x0bCQL_VERSION\x00\x053.0.0"
	if err := askCassandra(c, cqlStartup, []byte(version), cqlAuthenticate); err != nil {
		return err
	}
	token := "\x00" + s.User + "\x00" + s.Password
	return askCassandra(c, cqlAuthResponse, append([]byte{0, 0, 0, byte(len(token))}, token...), cqlAuthenticated)
}

func askCassandra(c net.Conn, opcode byte, body []byte, want byte) error {
	if _, err := c.Write(append([]byte{4, 0, 0, 0, opcode, 0, 0, 0, byte(len(body))}, body...)); err != nil {
		return err
	}
	var head [9]byte
	if _, err := io.ReadFull(c, head[:]); err != nil {
		return err
	}
	if head[4] != want {
		return fmt.Errorf("answered request %d with %d", opcode, head[4])
	}
	_, err := io.CopyN(io.Discard, c, int64(encoding.BigEndian.Uint32(head[5:])))
	return err
}
