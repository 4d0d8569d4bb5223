package picture

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// chunk is one part of a RIFF file.
type chunk struct {
	name    string
	payload []byte
}

// maxChunks bounds the chunks of a WebP file, or of a frame in it.
const maxChunks = 10_000

// chunks splits a sequence of RIFF chunks. If the last one is cut off, it returns those before it
// and an error. https://developers.google.com/speed/webp/docs/riff_container
func chunks(data []byte) ([]chunk, error) {
	var list []chunk
	for len(data) >= 8 {
		size := uint64(binary.LittleEndian.Uint32(data[4:]))
		if size > uint64(len(data)-8) {
			return list, fmt.Errorf("%w: cut off", ErrBroken)
		}
		list = append(list, chunk{string(data[:4]), data[8 : 8+size]})
		if len(list) > maxChunks {
			return list, fmt.Errorf("%w: too many parts", ErrBounds)
		}
		data = data[min(8+size+size&1, uint64(len(data))):]
	}
	return list, nil
}

// stillWebP returns the file, or for an animation a file of its first frame: Go's decoder reads no
// animations. It also checks the size of an animation's canvas, as a browser will allocate it.
func stillWebP(body []byte, limits Limits) ([]byte, error) {
	if !animated(body, WebP) {
		return body, nil
	}
	if len(body) < 30 {
		return nil, fmt.Errorf("%w: cut off", ErrBroken)
	}
	if err := limits.check(int(uint24(body[24:]))+1, int(uint24(body[27:]))+1); err != nil {
		return nil, err
	}
	parts, err := chunks(body[12:])
	for _, part := range parts {
		if part.name == "ANMF" && len(part.payload) > 16 {
			return frameFile(part.payload)
		}
	}
	if err != nil {
		return nil, err
	}
	return nil, fmt.Errorf("%w: no frame", ErrBroken)
}

// alphaFlag in the first byte of a VP8X chunk says that the picture has transparent parts.
const alphaFlag = 0x10

// frameFile makes a WebP file of one frame of an animation. The frame has 16 bytes of header, then
// its chunks.
func frameFile(frame []byte) ([]byte, error) {
	width, height := frame[6:9], frame[9:12]
	parts, err := chunks(frame[16:])
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	write := func(name string, payload []byte) {
		out.WriteString(name)
		out.Write(binary.LittleEndian.AppendUint32(nil, uint32(len(payload))))
		out.Write(payload)
		if len(payload)%2 == 1 {
			out.WriteByte(0)
		}
	}
	var alpha, picture *chunk
	for i := range parts {
		switch parts[i].name {
		case "ALPH":
			alpha = &parts[i]
		case "VP8 ", "VP8L":
			if picture == nil {
				picture = &parts[i]
			}
		}
	}
	if picture == nil {
		return nil, fmt.Errorf("%w: a frame without a picture", ErrBroken)
	}
	if alpha != nil && picture.name == "VP8 " {
		header := append([]byte{alphaFlag, 0, 0, 0}, width...)
		write("VP8X", append(header, height...))
		write("ALPH", alpha.payload)
	}
	write(picture.name, picture.payload)
	file := append([]byte("RIFF"), binary.LittleEndian.AppendUint32(nil, uint32(out.Len()+4))...)
	return append(append(file, "WEBP"...), out.Bytes()...), nil
}

func uint24(b []byte) uint32 { return uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 }
