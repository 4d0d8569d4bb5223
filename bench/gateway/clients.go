package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"time"

	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// A client reads whole messages and looks at no more than their kind: what is measured is the
// server. left counts down the transactions that are still to come, of all clients together.
type client struct {
	conn    net.Conn
	grpc    bool
	read    *bufio.Reader
	http2   *http2.Framer
	pending []byte
	// unsaid is what was read and not yet given back to the window.
	unsaid uint32
}

// dial opens a stream with one filter and returns when it counts.
func dial(addr string, grpc bool, addresses []string) (*client, error) {
	return dialWith(addr, grpc, func(c *client) error {
		if grpc {
			return c.openGRPC(addr, addresses)
		}
		return c.openWebSocket(addr, addresses)
	})
}

// dialWith connects and lets open say what is wanted.
func dialWith(addr string, grpc bool, open func(*client) error) (*client, error) {
	conn, err := net.DialTimeout("tcp", addr, time.Minute)
	if err != nil {
		return nil, err
	}
	c := &client{conn: conn, grpc: grpc, read: bufio.NewReaderSize(conn, 4096)}
	_ = conn.SetDeadline(time.Now().Add(2 * time.Minute))
	if err := open(c); err != nil {
		_ = conn.Close()
		return nil, err
	}
	_ = conn.SetDeadline(time.Time{})
	return c, nil
}

func (c *client) openWebSocket(addr string, addresses []string) error {
	_, err := fmt.Fprintf(c.conn, "GET / HTTP/1.1\r\nHost: %s\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"+
		"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n", addr)
	if err != nil {
		return err
	}
	for {
		line, err := c.read.ReadString('\n')
		if err != nil {
			return err
		}
		if line == "\r\n" {
			break
		}
		if bytes.HasPrefix([]byte(line), []byte("HTTP/1.1 ")) && !bytes.HasPrefix([]byte(line), []byte("HTTP/1.1 101")) {
			return errors.New(line)
		}
	}
	call, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": "transactionSubscribe",
		"params": []any{map[string]any{"accountInclude": addresses}}})
	if err != nil {
		return err
	}
	// A client's frame, masked with zeros.
	frame := binary.BigEndian.AppendUint16([]byte{0x81, 0x80 | 126}, uint16(len(call)))
	if _, err := c.conn.Write(append(append(frame, 0, 0, 0, 0), call...)); err != nil {
		return err
	}
	_, _, err = c.frame()
	return err
}

// frame reads a frame and returns its kind and its first bytes.
func (c *client) frame() (kind byte, head []byte, err error) {
	first, err := c.read.Peek(2)
	if err != nil {
		return 0, nil, err
	}
	kind = first[0] & 15
	n, header := int(first[1]&127), 2
	switch n {
	case 126:
		header = 4
	case 127:
		header = 10
	}
	b, err := c.read.Peek(header)
	if err != nil {
		return 0, nil, err
	}
	switch n {
	case 126:
		n = int(binary.BigEndian.Uint16(b[2:]))
	case 127:
		n = int(binary.BigEndian.Uint64(b[2:]))
	}
	if _, err := c.read.Discard(header); err != nil {
		return 0, nil, err
	}
	if head, err = c.read.Peek(min(n, 60)); err != nil {
		return 0, nil, err
	}
	head = bytes.Clone(head)
	_, err = c.read.Discard(n)
	return kind, head, err
}

func (c *client) openGRPC(addr string, addresses []string) error {
	if err := c.sendGRPC(addr, &pb.SubscribeRequest{Transactions: map[string]*pb.SubscribeRequestFilterTransactions{"mine": {AccountInclude: addresses}}},
		&pb.SubscribeRequest{Ping: &pb.SubscribeRequestPing{Id: 1}}); err != nil {
		return err
	}
	// The pong says that the filter counts.
	for {
		messages, err := c.data()
		if err != nil {
			return err
		}
		for _, m := range messages {
			if m == fieldPong {
				return nil
			}
		}
	}
}

// sendGRPC begins a stream with requests.
func (c *client) sendGRPC(addr string, requests ...*pb.SubscribeRequest) error {
	if _, err := io.WriteString(c.conn, http2.ClientPreface); err != nil {
		return err
	}
	c.http2 = http2.NewFramer(c.conn, c.read)
	c.http2.SetReuseFrames()
	if err := c.http2.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: window}); err != nil {
		return err
	}
	if err := c.http2.WriteWindowUpdate(0, window); err != nil {
		return err
	}
	var block bytes.Buffer
	headers := hpack.NewEncoder(&block)
	for _, h := range [][2]string{{":method", "POST"}, {":scheme", "http"}, {":path", "/geyser.Geyser/Subscribe"}, {":authority", addr},
		{"content-type", "application/grpc"}, {"te", "trailers"}} {
		if err := headers.WriteField(hpack.HeaderField{Name: h[0], Value: h[1]}); err != nil {
			return err
		}
	}
	if err := c.http2.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block.Bytes(), EndHeaders: true}); err != nil {
		return err
	}
	for _, request := range requests {
		body, err := proto.Marshal(request)
		if err != nil {
			return err
		}
		message := binary.BigEndian.AppendUint32([]byte{0}, uint32(len(body)))
		if err := c.http2.WriteData(1, false, append(message, body...)); err != nil {
			return err
		}
	}
	return nil
}

// window is how much of a stream may be on its way.
const window = 1 << 20

// Fields of SubscribeUpdate.
const fieldTransaction, fieldPong = 4, 9

// data reads a frame and returns the kinds of the messages that are whole with it.
func (c *client) data() (kinds []protowire.Number, err error) {
	frame, err := c.http2.ReadFrame()
	if err != nil {
		return nil, err
	}
	switch f := frame.(type) {
	case *http2.SettingsFrame:
		if !f.IsAck() {
			return nil, c.http2.WriteSettingsAck()
		}
	case *http2.PingFrame:
		if !f.IsAck() {
			return nil, c.http2.WritePing(true, f.Data)
		}
	case *http2.GoAwayFrame, *http2.RSTStreamFrame:
		return nil, fmt.Errorf("the server ended the stream: %v", f)
	case *http2.DataFrame:
		if c.unsaid += f.Length; c.unsaid >= window/4 {
			if err := errors.Join(c.http2.WriteWindowUpdate(0, c.unsaid), c.http2.WriteWindowUpdate(1, c.unsaid)); err != nil {
				return nil, err
			}
			c.unsaid = 0
		}
		c.pending = append(c.pending, f.Data()...)
		for len(c.pending) >= 5 {
			n := 5 + int(binary.BigEndian.Uint32(c.pending[1:]))
			if len(c.pending) < n {
				break
			}
			kinds = append(kinds, kindOf(c.pending[5:n]))
			c.pending = c.pending[n:]
		}
		if len(c.pending) == 0 {
			c.pending = nil
		}
	}
	return kinds, nil
}

// kindOf is the field of an update that says what it is.
func kindOf(update []byte) protowire.Number {
	for len(update) > 0 {
		field, _, n := protowire.ConsumeField(update)
		if n < 0 {
			return 0
		}
		if field == fieldTransaction || field == fieldPong {
			return field
		}
		update = update[n:]
	}
	return 0
}

// count reads until the connection ends. Each transaction lowers left, and the one that makes it 0
// closes done.
func (c *client) count(left *atomic.Int64, done func()) error {
	return c.each(func() {
		if left.Add(-1) == 0 {
			done()
		}
	})
}

// each reads until the connection ends and calls got for each transaction.
func (c *client) each(got func()) error {
	for {
		if c.grpc {
			kinds, err := c.data()
			if err != nil {
				return err
			}
			for _, k := range kinds {
				if k == fieldTransaction {
					got()
				}
			}
			continue
		}
		kind, head, err := c.frame()
		switch {
		case err != nil:
			return err
		case kind == 9: // a ping
			if _, err := c.conn.Write([]byte{0x8a, 0x80, 0, 0, 0, 0}); err != nil {
				return err
			}
		case kind == 1 && bytes.Contains(head, []byte(`"transactionNotification"`)):
			got()
		}
	}
}
