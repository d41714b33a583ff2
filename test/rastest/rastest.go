// Package rastest answers like the RAS service of RCCL, for tests.
package rastest

import (
	"bufio"
	"fmt"
	"net"
	"strings"
)

// Serve holds one conversation and closes the connection. json is true if the service knows that
// format, as it does from 2.28.7 on.
func Serve(c net.Conn, answer []byte, json bool) {
	defer func() { _ = c.Close() }()
	in := bufio.NewScanner(c)
	for in.Scan() {
		switch line := in.Text(); {
		case strings.HasPrefix(line, "CLIENT PROTOCOL "):
			_, _ = fmt.Fprint(c, "SERVER PROTOCOL 2\n")
		case strings.HasPrefix(line, "TIMEOUT "), json && line == "SET FORMAT json":
			_, _ = fmt.Fprint(c, "OK\n")
		case line == "VERBOSE STATUS":
			_, _ = c.Write(answer)
			return
		default:
			_, _ = fmt.Fprintf(c, "ERROR: Unknown command %s\n", line)
		}
	}
}

// Listen serves on a port of this host until end is called. It returns the address.
func Listen(answer []byte, json bool) (address string, end func(), err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go Serve(c, answer, json)
		}
	}()
	return l.Addr().String(), func() { _ = l.Close() }, nil
}
