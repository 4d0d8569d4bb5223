package kafka

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// explainHangup returns a SecurityError if a broker that answered and then ended the connection
// wants a login. Apache Kafka sends its versions to anybody, and closes the connection at the next
// request of a client that has not logged in. It may close it for other reasons too, so the broker
// is asked.
func (d *dialer) explainHangup(addr string, err error) *SecurityError {
	if d.login || !hungUp(err) {
		return nil
	}
	logins := d.logins(addr)
	if len(logins) == 0 {
		return nil
	}
	return &SecurityError{addr, "this port wants a login: set kafka.sasl.mechanism, it has " + strings.Join(logins, ", "), err}
}

// maxHandshakeBytes bounds the answer to a probe, which is a list of a few names.
const maxHandshakeBytes = 4096

// logins asks a broker which login mechanisms a port has. It returns nil if the port has none or
// the broker does not answer. If the port only has mechanisms that mintlake does not know, the
// result is one text that says so.
func (d *dialer) logins(addr string) []string {
	ctx, cancel := context.WithTimeout(context.Background(), probeTimeout)
	defer cancel()
	conn, err := d.open(ctx, "tcp", addr)
	if err != nil {
		return nil
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(probeTimeout))
	answer, err := saslHandshake(conn)
	// A port without logins answers ILLEGAL_SASL_STATE.
	if err != nil || answer.ErrorCode != kerr.UnsupportedSaslMechanism.Code {
		return nil
	}
	var known []string
	for _, name := range answer.SupportedMechanisms {
		if slices.Contains([]string{"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "AWS_MSK_IAM"}, name) {
			known = append(known, strings.ReplaceAll(strings.ToLower(name), "aws_msk_iam", MechanismAWSMSKIAM))
		}
	}
	if len(known) == 0 {
		return []string{"none that mintlake knows"}
	}
	slices.Sort(known)
	return known
}

// saslHandshake asks for a mechanism that no broker has. The broker's error lists those that it
// has.
func saslHandshake(conn net.Conn) (*kmsg.SASLHandshakeResponse, error) {
	request := kmsg.NewSASLHandshakeRequest()
	request.Version, request.Mechanism = 1, "WHICH"
	if _, err := conn.Write(kmsg.NewRequestFormatter().AppendRequest(nil, &request, 1)); err != nil {
		return nil, fmt.Errorf("ask for logins: %w", err)
	}
	var size [4]byte
	if _, err := io.ReadFull(conn, size[:]); err != nil {
		return nil, fmt.Errorf("ask for logins: %w", err)
	}
	length := binary.BigEndian.Uint32(size[:])
	if length < 4 || length > maxHandshakeBytes {
		return nil, fmt.Errorf("ask for logins: an answer of %d bytes", length)
	}
	body := make([]byte, length)
	if _, err := io.ReadFull(conn, body); err != nil {
		return nil, fmt.Errorf("ask for logins: %w", err)
	}
	answer := kmsg.NewPtrSASLHandshakeResponse()
	answer.Version = 1
	if err := answer.ReadFrom(body[4:]); err != nil { // after the correlation id
		return nil, fmt.Errorf("ask for logins: %w", err)
	}
	return answer, nil
}
