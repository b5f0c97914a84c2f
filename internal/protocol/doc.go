// Package protocol is the contract between the engine and the protocols. Each protocol lives in its own package below
// this one and knows nothing of plans, clocks or reports.
//
// Every protocol provides Dial, which returns a Conn for use by one goroutine. The most important protocols also have
// a codec and implement CodecDriver: event loops drive the codec over the bare socket, and package blocking makes a
// Conn of the same codec. A codec encodes requests from prepared templates and scans replies with a minimal decoder,
// without I/O and without allocating. It is written once and driven in two ways, so the two can't disagree. The other
// protocols wrap well-maintained client libraries: connecting, TLS and authentication are a library's or the standard
// library's anyway.
//
// All failures map to one taxonomy (Class): connect, timeout, server, retryable, unknown outcome, protocol, client.
// What was sent and not answered may have been applied, so it is never called a plain failure.
//
// Where a request goes is decided here too, because that is a choice of connections: topology finds out which nodes a
// cluster has and what each of them does; balance chooses the node for the next request; buckets, by the hash
// functions of vshard and Picodata, are a map that balance uses.
//
// # Clusters whose nodes serve different keys
//
// With mode=cluster, the driver for Redis expands the given address to all nodes, including replicas. They are
// addresses of the run from its start. In the codec tier each session has a connection to every node that serves
// slots, like a client library, and chooses the connection when it knows the key. (Redis divides the keys into 16384
// slots.) The alternative is to assign each session to one node. Then an arrival would wait for a session of its own
// node while other sessions are free, and the arrivals behind it would wait too. Instead, any free session takes the
// next arrival in strict order, and there is one backlog. In this mode sessions and up count connections.
//
// A MOVED reply corrects the table of slots at once, and the table is read again soon afterwards. MOVED and ASK are
// followed up to max_redirects times per operation and count as retries. If a node is not connected, a request for it
// waits while a connection attempt is running. If the attempt has failed, the request fails as connect. So a dead node
// affects only its own requests. In closed loads the session then pauses like a session that reconnects. When a
// replica takes over, it is found and connected. A node that joins becomes an address of the run (protocol.Nodes,
// which has room for a few). Until it is connected, requests for its keys fail as retryable.
//
// # Requests that name their address
//
// If a plan lists URLs at several hosts, each host is an address of the run. Each request names its address
// (protocol.Places, a protocol.Router like that of a cluster), whichever session sends it, and is counted for that
// address. In the library tier a session has no address of its own then. It connects to each host. If it loses one of
// these connections, only requests to that host are affected. In closed loads the session pauses after a request that
// could not be sent.
//
// Event loops would send such requests faster, and a loop lets a request wait while its connection is being restored.
// But the HTTP codec can't encode requests for several hosts yet.
package protocol
