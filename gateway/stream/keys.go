package stream

import (
	"context"
	"net/http"
	"path"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/access/keys"
	"github.com/mintlake/mintlake/access/proxies"
	"github.com/mintlake/mintlake/access/usage"
	"github.com/mintlake/mintlake/gateway/message"
)

// first returns the first value of a metadata key; empty if there is none.
func first(md metadata.MD, key string) string {
	if values := md.Get(key); len(values) > 0 {
		return values[0]
	}
	return ""
}

// refusedHost is what clients of an open stream are told who call it by another name than a
// loopback one.
const refusedHost = "this endpoint runs without keys and answers to loopback host names only: configure a key (--rpc-keys) to publish it"

// admitGRPC checks the key and its rules, and whether the key may call the method now. It counts a
// call that it refuses as usage of the key; the caller counts one that it admits. It refuses every
// call on a refused connection, whatever the key, and on an open stream every call by a name that
// is no loopback name.
func (s *Server) admitGRPC(ctx context.Context, fullMethod string) (keys.Pass, error) {
	md, _ := metadata.FromIncomingContext(ctx)
	request := keys.Request{Key: first(md, tokenHeader), Origin: first(md, "origin")}
	if p, ok := peer.FromContext(ctx); ok {
		if why := refusalOf(p.Addr); why != nil {
			return keys.Pass{}, status.Error(codes.ResourceExhausted, why.text)
		}
		request.Address = s.cfg.TrustedProxies.ClientOf(p.Addr.String(), md.Get(strings.ToLower(proxies.Header)))
	}
	if !s.gate.AdmitHost(first(md, ":authority")) {
		s.metrics.refused.WithLabelValues(formGRPC, "host").Inc()
		return keys.Pass{}, status.Error(codes.PermissionDenied, refusedHost)
	}
	pass, refused := s.gate.Admit(request)
	if refused != nil {
		return pass, s.refuseGRPC(refused)
	}
	method := path.Base(fullMethod) // a known name: gRPC has refused methods that the service lacks
	if refused = pass.Method(method); refused == nil {
		_, refused = pass.Take(1)
	}
	if refused != nil {
		pass.Count(method, usage.Counts{Refused: 1})
		return pass, s.refuseGRPC(refused)
	}
	return pass, nil
}

// openStream opens a stream of the key, and counts it as usage of the key: as a request, or as
// refused. The caller closes the lease.
func openStream(pass *keys.Pass, method string) (*keys.Lease, *keys.Refusal) {
	lease, refused := pass.Open(method)
	if refused != nil {
		pass.Count(method, usage.Counts{Refused: 1})
		return nil, refused
	}
	pass.Count(method, usage.Counts{Requests: 1, Units: 1})
	return lease, nil
}

// refuseGRPC counts a refusal and returns its gRPC status.
func (s *Server) refuseGRPC(refused *keys.Refusal) error {
	s.metrics.refused.WithLabelValues(formGRPC, reasonOf(refused)).Inc()
	message := refused.Error()
	if refused.Rule == keys.RuleMissing {
		message += " in the metadata " + tokenHeader
	}
	return status.Error(codeOf(refused), message)
}

// reasonOf returns the refusal's reason as a metric label.
func reasonOf(refused *keys.Refusal) string {
	if refused.Status == http.StatusUnauthorized {
		return "unauthorized"
	}
	return "key_" + refused.Rule
}

func codeOf(refused *keys.Refusal) codes.Code {
	switch refused.Status {
	case http.StatusUnauthorized:
		return codes.Unauthenticated
	case http.StatusForbidden:
		return codes.PermissionDenied
	}
	return codes.ResourceExhausted
}

func (s *Server) interceptUnary(ctx context.Context, req any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (response any, err error) {
	pass, err := s.admitGRPC(ctx, info.FullMethod)
	if err != nil {
		return nil, err
	}
	pass.Count(path.Base(info.FullMethod), usage.Counts{Requests: 1, Units: 1})
	compressFor(ctx)
	err = s.guarded(func() (err error) {
		response, err = handle(ctx, req)
		return err
	})
	return response, err
}

// interceptStream holds a lease of the key for as long as the stream is open.
func (s *Server) interceptStream(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
	pass, err := s.admitGRPC(stream.Context(), info.FullMethod)
	if err != nil {
		return err
	}
	lease, refused := openStream(&pass, path.Base(info.FullMethod))
	if refused != nil {
		return s.refuseGRPC(refused)
	}
	defer lease.Close()
	compressFor(stream.Context())
	return s.guarded(func() error { return handle(srv, &leasedStream{stream, lease}) })
}

// leasedStream is a stream with the lease of its key.
type leasedStream struct {
	grpc.ServerStream
	lease *keys.Lease
}

type leaseKey struct{}

// SendMsg implements grpc.ServerStream. The message's bytes, before any compression, count as usage
// of the key. A message that is a mem.BufferSlice is encoded already.
func (l *leasedStream) SendMsg(m any) error {
	if err := l.ServerStream.SendMsg(m); err != nil {
		return err
	}
	switch m := m.(type) {
	case mem.BufferSlice:
		l.lease.Sent(m.Len())
	case proto.Message:
		l.lease.Sent(proto.Size(m))
	}
	return nil
}

// Context implements grpc.ServerStream.
func (l *leasedStream) Context() context.Context {
	return context.WithValue(l.ServerStream.Context(), leaseKey{}, l.lease)
}

// leaseOf returns the lease of a stream's key; nil if there is none.
func leaseOf(ctx context.Context) *keys.Lease {
	lease, _ := ctx.Value(leaseKey{}).(*keys.Lease)
	return lease
}

// admitWebSocket checks the key, its rules, how often it may call, and how many streams it has
// open. It counts the stream as usage of the key. The caller closes the lease.
func (s *Server) admitWebSocket(r *http.Request) (*keys.Lease, *keys.Refusal) {
	pass, refused := s.gate.Admit(keys.Request{
		Key: r.URL.Query().Get(keyQuery), Origin: r.Header.Get("Origin"),
		Address: s.cfg.TrustedProxies.ClientOf(r.RemoteAddr, r.Header.Values(proxies.Header)),
	})
	if refused != nil {
		return nil, refused
	}
	if _, refused = pass.Take(1); refused != nil {
		pass.Count(methodSubscribe, usage.Counts{Refused: 1})
		return nil, refused
	}
	return openStream(&pass, methodSubscribe)
}

// refuseKey answers a request that its key does not allow, or that has no key.
func (s *Server) refuseKey(w http.ResponseWriter, refused *keys.Refusal) {
	refused.Headers(w.Header().Set)
	message := refused.Error()
	if refused.Rule == keys.RuleMissing {
		message += " in the query parameter " + keyQuery
	}
	s.refuse(w, refused.Status, reasonOf(refused), message)
}

// refusedCall returns the error of a WebSocket call that the key does not allow.
func refusedCall(refused *keys.Refusal) *message.Error {
	return &message.Error{Code: refused.RPCCode(), Message: refused.Error()}
}
