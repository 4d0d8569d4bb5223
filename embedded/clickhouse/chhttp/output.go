package chhttp

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/ClickHouse/ch-go/compress"
)

// output encodes the parts of a result for the network: in ClickHouse's compressed blocks if the
// request has compress=1, then in the HTTP encoding.
type output struct {
	blocks  *compress.Writer
	encoder flusher
	buffer  bytes.Buffer // the encoder writes into it
}

// newOutput makes the output that the request asks for.
func newOutput(req *request) (*output, error) {
	o := &output{}
	if req.compress {
		method := compress.LZ4
		if strings.EqualFold(req.settings["network_compression_method"], "ZSTD") {
			method = compress.ZSTD
		}
		o.blocks = compress.NewWriter(compress.LevelZero, method)
	}
	if req.encoding != "" {
		encoder, err := newEncoder(req.encoding, &o.buffer)
		if err != nil {
			return nil, fmt.Errorf("compress result: %w", err)
		}
		o.encoder = encoder
	}
	return o, nil
}

// part returns the bytes to send for the next part of the result. They are valid until the next
// call, and can be decompressed without what follows.
func (o *output) part(data []byte) ([]byte, error) {
	if len(data) == 0 {
		return data, nil
	}
	if o.blocks != nil {
		var err error
		if data, err = o.compressed(data); err != nil {
			return nil, err
		}
	}
	if o.encoder == nil {
		return data, nil
	}
	o.buffer.Reset()
	if _, err := o.encoder.Write(data); err != nil {
		return nil, fmt.Errorf("compress result: %w", err)
	}
	if err := o.encoder.Flush(); err != nil {
		return nil, fmt.Errorf("compress result: %w", err)
	}
	return o.buffer.Bytes(), nil
}

// end returns the last bytes to send.
func (o *output) end() ([]byte, error) {
	if o.encoder == nil {
		return nil, nil
	}
	o.buffer.Reset()
	if err := o.encoder.Close(); err != nil {
		return nil, fmt.Errorf("compress result: %w", err)
	}
	return o.buffer.Bytes(), nil
}

// raw returns text in the HTTP encoding, and ends that encoding. It does not write ClickHouse's
// compressed blocks, because a ClickHouse server sends an error in the middle of a result outside
// of them.
func (o *output) raw(text []byte) []byte {
	if o.encoder == nil {
		return text
	}
	o.buffer.Reset()
	if _, err := o.encoder.Write(text); err != nil {
		return nil
	}
	if o.encoder.Close() != nil {
		return nil
	}
	return o.buffer.Bytes()
}

// compressed returns data in compressed blocks, each of at most 1 MiB.
func (o *output) compressed(data []byte) ([]byte, error) {
	var out []byte
	for len(data) > 0 {
		n := min(len(data), 1<<20)
		if err := o.blocks.Compress(data[:n]); err != nil {
			return nil, fmt.Errorf("compress result: %w", err)
		}
		out = append(out, o.blocks.Data...)
		data = data[n:]
	}
	return out, nil
}
