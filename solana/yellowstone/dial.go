package yellowstone

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/url"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	_ "google.golang.org/grpc/encoding/gzip" // servers may compress
	"google.golang.org/grpc/metadata"
)

// Server is the address of a Yellowstone server, and how to reach it.
type Server struct {
	// URL is https://host:port or http://host:port; the port defaults to 443 and 80.
	URL *url.URL
	// Token is sent as x-token with every call; empty = none.
	Token string
	// TLS is the TLS configuration; nil means the default. Dial opens the connection to host:port;
	// nil means TCP.
	TLS  *tls.Config
	Dial func(ctx context.Context, address string) (net.Conn, error)
}

// ParseURL reads a server's address.
func ParseURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("endpoint: want http(s)://host:port") // the text may hold a key
	}
	return u, nil
}

// window is gRPC's flow-control window in bytes: a large block fits, so it is sent without waiting.
const window = 8 << 20

// Connect makes a connection. It does no I/O before the first call.
//
// gRPC's keepalive is off: it reads the wall clock, and ends healthy connections within half a
// minute after that clock was set back. Instead, callers end a stream that is silent for too long,
// with a timer of their own.
func (s Server) Connect(options ...grpc.DialOption) (*grpc.ClientConn, error) {
	creds, port := insecure.NewCredentials(), s.URL.Port()
	if s.URL.Scheme == "https" {
		conf := &tls.Config{MinVersion: tls.VersionTLS12}
		if s.TLS != nil {
			conf = s.TLS
		}
		creds = credentials.NewTLS(conf)
	}
	if port == "" {
		port = map[string]string{"https": "443", "http": "80"}[s.URL.Scheme]
	}
	scheme := "dns:///"
	options = append(options, grpc.WithTransportCredentials(creds),
		grpc.WithInitialWindowSize(window), grpc.WithInitialConnWindowSize(2*window))
	if s.Dial != nil {
		scheme, options = "passthrough:///", append(options, grpc.WithContextDialer(s.Dial))
	}
	return grpc.NewClient(scheme+net.JoinHostPort(s.URL.Hostname(), port), options...)
}

// WithToken returns a context whose calls send the token.
func (s Server) WithToken(ctx context.Context) context.Context {
	if s.Token == "" {
		return ctx
	}
	return metadata.AppendToOutgoingContext(ctx, "x-token", s.Token)
}
