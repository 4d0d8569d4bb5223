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

// client is a subscriber of the stream over gRPC or WebSocket. It reads whole messages but decodes
// no more than their kind, so that the machine's time goes to the server, which is measured.
type client struct {
	conn    net.Conn
	grpc    bool
	read    *bufio.Reader
	http2   *http2.Framer
	pending []byte // a part of a gRPC message
	// processed asks for that commitment in place of confirmed.
	processed bool
	// unacked counts the bytes that were read, but not returned to the server by a WINDOW_UPDATE.
	unacked uint32
	// records makes the client keep in recorded all bytes that it reads.
	records  bool
	recorded []byte
}

// Read implements io.Reader: it reads from the connection.
func (c *client) Read(b []byte) (int, error) {
	n, err := c.conn.Read(b)
	if c.records {
		c.recorded = append(c.recorded, b[:n]...)
	}
	return n, err
}

// readBuffer holds what one client gets of a block, so that it is one system call to read it.
const readBuffer = 16 << 10

// dial opens a stream with one filter, for addresses. It returns when the filter is in effect.
func dial(addr string, grpc bool, addresses []string) (*client, error) {
	return dialWith(addr, grpc, func(c *client) error {
		if grpc {
			return c.openGRPC(addr, addresses)
		}
		return c.openWebSocket(addr, addresses)
	})
}

// dialWith connects and calls open, which sends the subscription.
func dialWith(addr string, grpc bool, open func(*client) error) (*client, error) {
	conn, err := net.DialTimeout("tcp", addr, time.Minute)
	if err != nil {
		return nil, err
	}
	c := &client{conn: conn, grpc: grpc}
	c.read = bufio.NewReaderSize(c, readBuffer)
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
	params := []any{map[string]any{"accountInclude": addresses}}
	if c.processed {
		params = append(params, map[string]any{"commitment": "processed"})
	}
	call, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": "transactionSubscribe", "params": params})
	if err != nil {
		return err
	}
	// A text frame with a length of 16 bits. A client must mask its frames; a mask of zeros changes
	// nothing.
	frame := binary.BigEndian.AppendUint16([]byte{0x81, 0x80 | 126}, uint16(len(call)))
	if _, err := c.conn.Write(append(append(frame, 0, 0, 0, 0), call...)); err != nil {
		return err
	}
	_, _, err = c.frame()
	return err
}

// transactionHead is how a notification of a transaction begins.
var transactionHead = []byte(`{"jsonrpc":"2.0","method":"transactionNotification"`)

// frame reads a WebSocket frame and returns its opcode, and whether it brings a transaction.
func (c *client) frame() (kind byte, transaction bool, err error) {
	first, err := c.read.Peek(2)
	if err != nil {
		return 0, false, err
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
		return 0, false, err
	}
	switch n {
	case 126:
		n = int(binary.BigEndian.Uint16(b[2:]))
	case 127:
		n = int(binary.BigEndian.Uint64(b[2:]))
	}
	if _, err := c.read.Discard(header); err != nil {
		return 0, false, err
	}
	head, err := c.read.Peek(min(n, len(transactionHead)))
	if err != nil {
		return 0, false, err
	}
	transaction = kind == 1 && bytes.Equal(head, transactionHead)
	_, err = c.read.Discard(n)
	return kind, transaction, err
}

func (c *client) openGRPC(addr string, addresses []string) error {
	commitment := pb.CommitmentLevel_CONFIRMED
	if c.processed {
		commitment = pb.CommitmentLevel_PROCESSED
	}
	if err := c.sendGRPC(addr, &pb.SubscribeRequest{Commitment: &commitment, Transactions: map[string]*pb.SubscribeRequestFilterTransactions{"mine": {AccountInclude: addresses}}},
		&pb.SubscribeRequest{Ping: &pb.SubscribeRequestPing{Id: 1}}); err != nil {
		return err
	}
	// Requests are handled in order: when the pong comes, the filter is in effect.
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

// sendGRPC opens the HTTP/2 connection and the Subscribe stream, and sends requests.
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

// window is the HTTP/2 flow control window, in bytes.
const window = 1 << 20

// Fields of SubscribeUpdate.
const fieldTransaction, fieldPong = 4, 9

// data reads an HTTP/2 frame and returns the kinds of the gRPC messages that it completes.
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
		if c.unacked += f.Length; c.unacked >= window/4 {
			if err := errors.Join(c.http2.WriteWindowUpdate(0, c.unacked), c.http2.WriteWindowUpdate(1, c.unacked)); err != nil {
				return nil, err
			}
			c.unacked = 0
		}
		rest := f.Data() // most messages are in one frame, and are not copied
		if len(c.pending) > 0 {
			rest = append(c.pending, rest...)
		}
		for len(rest) >= 5 {
			n := 5 + int(binary.BigEndian.Uint32(rest[1:]))
			if len(rest) < n {
				break
			}
			kinds = append(kinds, kindOf(rest[5:n]))
			rest = rest[n:]
		}
		c.pending = bytes.Clone(rest)
	}
	return kinds, nil
}

// kindOf returns fieldTransaction or fieldPong, whichever field the update has; else 0.
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

// count reads until the connection ends. Each transaction lowers left, which all clients share.
// count calls done for the one that makes it 0.
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
		kind, transaction, err := c.frame()
		switch {
		case err != nil:
			return err
		case kind == 9: // a ping
			if _, err := c.conn.Write([]byte{0x8a, 0x80, 0, 0, 0, 0}); err != nil {
				return err
			}
		case transaction:
			got()
		}
	}
}
