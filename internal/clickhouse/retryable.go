package clickhouse

import (
	"context"
	"crypto/tls"
	sqldriver "database/sql/driver"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"syscall"

	ch "github.com/ClickHouse/clickhouse-go/v2"
)

// Retryable reports whether the same request may succeed later without any change: the connection
// broke, the server lacks memory or another resource, or a replica or Keeper is away. Everything
// else, such as a wrong query or wrong rows, is permanent. Retryable decides by types and by
// ClickHouse's error codes, never by message text. A request that may have been executed is
// retryable too, so an insert must be safe to repeat. A cancelled context is not retryable: the
// caller wants to stop.
func Retryable(err error) bool {
	if err == nil || errors.Is(err, context.Canceled) {
		return false
	}
	if errors.Is(err, ErrWriteLimit) {
		return true
	}
	var all *hostsError
	if errors.As(err, &all) {
		return slices.ContainsFunc(all.failures, Retryable)
	}
	var access *AccessError
	if errors.As(err, &access) {
		return access.Passing
	}
	var exception *ch.Exception
	if errors.As(err, &exception) {
		_, ok := retryableCode(exception.Code)
		return ok
	}
	var httpErr *ch.HTTPError
	if errors.As(err, &httpErr) {
		return retryableStatus(httpErr.StatusCode)
	}
	return brokenConnection(err)
}

// brokenConnection is true for errors of the network and of timeouts, of a pool without a free
// connection, and of an answer that broke off.
func brokenConnection(err error) bool {
	var certificate *tls.CertificateVerificationError
	if errors.As(err, &certificate) {
		return false
	}
	for _, target := range []error{
		context.DeadlineExceeded, io.EOF, io.ErrUnexpectedEOF, io.ErrClosedPipe, net.ErrClosed, sqldriver.ErrBadConn, http.ErrServerClosed,
		ch.ErrAcquireConnTimeout, ch.ErrConnectionClosed,
		syscall.ECONNREFUSED, syscall.ECONNRESET, syscall.ECONNABORTED, syscall.EPIPE, syscall.ETIMEDOUT, syscall.EHOSTUNREACH, syscall.ENETUNREACH,
	} {
		if errors.Is(err, target) {
			return true
		}
	}
	// url.Error is what net/http returns when a request got no answer; some of its causes have no
	// type of their own, such as a connection that the server closed while it was idle. Only a URL
	// that cannot be parsed is our own fault.
	var request *url.Error
	if errors.As(err, &request) {
		return request.Op != "parse"
	}
	var op *net.OpError
	var dns *net.DNSError
	var timeout net.Error
	return errors.As(err, &op) || errors.As(err, &dns) || errors.As(err, &timeout) && timeout.Timeout()
}

// retryableStatus judges answers that a proxy or load balancer in front of ClickHouse wrote.
func retryableStatus(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	default:
		return false
	}
}

// retryableCode returns the name of a retryable error code. Codes and names are from ClickHouse's
// src/Common/ErrorCodes.cpp; a test asks the engine for each name.
func retryableCode(code int32) (name string, ok bool) {
	for _, known := range [...]struct {
		code int32
		name string
	}{
		{74, "CANNOT_READ_FROM_FILE_DESCRIPTOR"},
		{75, "CANNOT_WRITE_TO_FILE_DESCRIPTOR"}, // also a full disk
		{159, "TIMEOUT_EXCEEDED"},
		{202, "TOO_MANY_SIMULTANEOUS_QUERIES"},
		{203, "NO_FREE_CONNECTION"},
		{209, "SOCKET_TIMEOUT"},
		{210, "NETWORK_ERROR"},
		{225, "NO_ZOOKEEPER"},
		{236, "ABORTED"},
		{241, "MEMORY_LIMIT_EXCEEDED"},
		{242, "TABLE_IS_READ_ONLY"},
		{243, "NOT_ENOUGH_SPACE"},
		{244, "UNEXPECTED_ZOOKEEPER_ERROR"},
		// A full disk may leave a part without its rows. The next start of the engine detaches the
		// part.
		{246, "CORRUPTED_DATA"},
		{252, "TOO_MANY_PARTS"},
		{254, "NO_ACTIVE_REPLICAS"},
		{279, "ALL_CONNECTION_TRIES_FAILED"},
		{285, "TOO_FEW_LIVE_REPLICAS"},
		{286, "UNSATISFIED_QUORUM_FOR_PREVIOUS_WRITE"},
		{289, "REPLICA_IS_NOT_IN_QUORUM"},
		{319, "UNKNOWN_STATUS_OF_INSERT"},
		{341, "UNFINISHED"},
		{369, "ALL_REPLICAS_ARE_STALE"},
		// An operator or a stopping server cancelled it. A client that cancels gets its context's
		// error.
		{394, "QUERY_WAS_CANCELLED"},
		{439, "CANNOT_SCHEDULE_TASK"},
		{473, "DEADLOCK_AVOIDED"},
		{499, "S3_ERROR"},
		{517, "CANNOT_ASSIGN_ALTER"},
		{999, "KEEPER_EXCEPTION"},
	} {
		if known.code == code {
			return known.name, true
		}
	}
	return "", false
}
