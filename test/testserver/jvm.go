package testserver

import "strconv"

// jvmService is the program of JVM. Its first argument is its port.
const jvmService = `import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
import java.net.ServerSocket;

public class Service {
    static volatile int sink;

    static int hot(int n) {
        int x = 1;
        for (int i = 0; i < n; i++) x = x * 31 + (x >>> 7 ^ i);
        return x;
    }

    static int other(int n) {
        int x = 1;
        for (int i = 0; i < n; i++) x = x * 17 + (x >>> 5 ^ i);
        return x;
    }

    static void idle() {
        try (ServerSocket s = new ServerSocket(0)) {
            s.accept();
        } catch (Exception e) {
            throw new RuntimeException(e);
        }
    }

    public static void main(String[] arguments) throws Exception {
        for (int i = 0; i < 4; i++) {
            Thread t = new Thread(Service::idle);
            t.setDaemon(true);
            t.start();
        }
        var server = HttpServer.create(new InetSocketAddress("127.0.0.1", Integer.parseInt(arguments[0])), 0);
        server.createContext("/", e -> {
            sink = e.getRequestURI().getPath().equals("/other") ? other(5_000_000) : hot(5_000_000);
            e.sendResponseHeaders(200, -1);
            e.close();
        });
        server.start();
    }
}
`

// JVM starts a service in Java. Each request takes some milliseconds of processor time, in Service.hot, or for /other
// in Service.other, while other threads wait in Service.idle. Settings adds options of the JVM. If the test is root's,
// the service is another user's.
func JVM(t TB, opts ...Option) *Server {
	t.Helper()
	o := collect(opts)
	return launch(t, &spec{
		name:   "JVM",
		binary: binary(t, "java", "openjdk-17-jre-headless"),
		cred:   unprivileged(t, "nobody", "base-passwd"),
		configure: func(*Server) (string, string) {
			return "Service.java", jvmService
		},
		arguments: func(s *Server) []string {
			return append(append([]string{"-Xmx64m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"}, o.settings...),
				"Service.java", strconv.Itoa(s.Port))
		},
	}, &Server{})
}
