package hostileimages

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"strings"
)

// Rasters returns pictures made of pixels. A check can refuse each by its structure alone, without
// decoding it.
func Rasters() []Case {
	raster := func(name, class string, body []byte) Case { return Case{name, body, class} }
	return []Case{
		raster("png: 60,000 x 60,000 in its header", ImageBounds, PNGHeader(60_000, 60_000)),
		raster("png: a line", ImageBounds, PNGHeader(1<<31-1, 1)),
		raster("png: 4 billion a side", ImageBounds, PNGHeader(1<<32-1, 1<<32-1)),
		raster("png: no pixels", BadImage, PNGHeader(0, 5)),
		raster("png: a chunk longer than the file", BadImage, append(PNGHeader(8, 8), "\xff\xff\xff\xffIDAT1234"...)),
		raster("png: empty chunks", ImageBounds, pngOf(8, 8, bytes.Repeat(Chunk("IDAT", nil), 100_000))),
		raster("png: profiles that unfold", ImageBounds, pngOf(8, 8, Chunk("iCCP", make([]byte, 2<<20)))),
		raster("png: frames", ImageBounds, pngOf(64, 64, bytes.Repeat(Chunk("fcTL", frameControl(64, 64)), 5_000))),
		raster("png: large frames", ImageBounds, pngOf(4096, 4096, bytes.Repeat(Chunk("fcTL", frameControl(4096, 4096)), 100))),
		raster("png: a frame larger than the picture", ImageBounds, pngOf(8, 8, Chunk("fcTL", frameControl(60_000, 60_000)))),
		raster("jpeg: 500 scans", ImageBounds, JPEGScans(2048, 500)),
		raster("jpeg: 254,000 scans", ImageBounds, JPEGScans(4096, 254_000)),
		raster("jpeg: 60 scans of 16 million pixels", ImageBounds, JPEGScans(4096, 60)),
		raster("jpeg: empty segments", ImageBounds, append([]byte("\xff\xd8"), bytes.Repeat([]byte("\xff\xfe\x00\x02"), 1<<20)...)),
		raster("jpeg: two headers", BadImage, append(jpegHead(16), jpegFrame(16)...)),
		raster("jpeg: 65,535 a side", ImageBounds, jpegHead(65_535)),
		raster("jpeg: fill bytes", BadImage, append([]byte("\xff\xd8"), bytes.Repeat([]byte{0xff}, 4<<20)...)),
		raster("gif: frames", ImageBounds, GIFFrames(16, 10_000)),
		raster("gif: large frames", ImageBounds, GIFFrames(4000, 200)),
		raster("gif: a canvas of 65,535 a side", ImageBounds, GIFFrames(65_535, 1)),
		raster("gif: extensions", ImageBounds, append([]byte("GIF89a\x08\x00\x08\x00\x00\x00\x00"), bytes.Repeat([]byte("!\xfe\x00"), 1<<20)...)),
		raster("webp: small canvas, vast picture", ImageBounds, riff(webpCanvas(8, 8, 0), webpVP8(16_383, 16_383))),
		raster("webp: vast canvas", ImageBounds, riff(webpCanvas(1<<24, 1<<24, 2))),
		raster("webp: frames", ImageBounds, riff(append([][]byte{webpCanvas(64, 64, 2)}, repeat(webpFrame(64, 64), 5_000)...)...)),
		raster("webp: large frames", ImageBounds, riff(append([][]byte{webpCanvas(4000, 4000, 2)}, repeat(webpFrame(4000, 4000), 100)...)...)),
		raster("webp: parts", ImageBounds, riff(repeat(riffChunk("JUNK", nil), 100_000)...)),
		raster("avif: a vast item", ImageBounds, AVIF(64, 64, 60_000, 60_000, 1, 0)),
		raster("avif: items of a grid", ImageBounds, AVIF(64, 64, 64, 64, 60_000, 0)),
		raster("avif: frames", ImageBounds, AVIF(64, 64, 64, 64, 1, 1<<20)),
		raster("avif: large frames", ImageBounds, AVIF(4096, 4096, 64, 64, 1, 1000)),
		raster("avif: boxes in boxes", BadImage, append(box("ftyp", []byte("avif\x00\x00\x00\x00avif")), nested(10_000)...)),
		raster("avif: empty boxes", ImageBounds, append(box("ftyp", []byte("avif\x00\x00\x00\x00avif")), bytes.Repeat(box("free", nil), 1<<18)...)),
		raster("bmp", NotImage, []byte("BM"+strings.Repeat("x", 100))),
	}
}

// Chunk returns a chunk of a PNG.
func Chunk(name string, data []byte) []byte {
	out := binary.BigEndian.AppendUint32(nil, uint32(len(data)))
	out = append(append(out, name...), data...)
	return binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(out[4:]))
}

// PNGHeader returns a PNG whose header states a size, without any pixels.
func PNGHeader(width, height uint32) []byte {
	header := binary.BigEndian.AppendUint32(nil, width)
	header = append(binary.BigEndian.AppendUint32(header, height), 8, 6, 0, 0, 0)
	return append([]byte("\x89PNG\r\n\x1a\n"), Chunk("IHDR", header)...)
}

func pngOf(width, height uint32, inner []byte) []byte {
	return append(append(PNGHeader(width, height), inner...), Chunk("IEND", nil)...)
}

// frameControl is the data of an animated PNG's chunk about one frame.
func frameControl(width, height uint32) []byte {
	out := binary.BigEndian.AppendUint32(make([]byte, 4), width)
	return append(binary.BigEndian.AppendUint32(out, height), make([]byte, 14)...)
}

func jpegFrame(side int) []byte {
	return []byte{0xff, 0xc2, 0, 11, 8, byte(side >> 8), byte(side), byte(side >> 8), byte(side), 1, 1, 0x11, 0}
}

func jpegHead(side int) []byte {
	out := append([]byte{0xff, 0xd8, 0xff, 0xdb, 0, 67, 0}, bytes.Repeat([]byte{1}, 64)...)
	return append(out, jpegFrame(side)...)
}

// JPEGScans returns a valid progressive grey JPEG of side by side pixels. Each scan covers all
// pixels and changes none. A scan of 4096 x 4096 takes 42 bytes. From 4 MiB on the scans have no
// data, and at 8 MiB the file ends.
func JPEGScans(side, scans int) []byte {
	out := jpegHead(side)
	table := func(class, symbol byte) []byte { // one code of one bit
		return append(append([]byte{0xff, 0xc4, 0, 20, class, 1}, make([]byte, 15)...), symbol)
	}
	// 0xe0: an end-of-band run of 16,384 blocks, and as many more as the next 14 bits say.
	out = append(append(out, table(0x00, 0)...), table(0x10, 0xe0)...)
	blocks := (side + 7) / 8 * ((side + 7) / 8)
	out = append(out, 0xff, 0xda, 0, 8, 1, 1, 0, 0, 0, 0) // the mean of each block: zero, one bit
	out = append(out, make([]byte, (blocks+7)/8)...)
	for range scans {
		out = append(out, 0xff, 0xda, 0, 8, 1, 1, 0, 1, 63, 0)
		for left := blocks; left > 0 && len(out) < 4<<20; left -= 16_384 {
			out = append(out, 0, 0)
		}
		if len(out) > 8<<20-12 {
			break
		}
	}
	return append(out, 0xff, 0xd9)
}

// GIFFrames returns an animation of empty frames.
func GIFFrames(side, frames int) []byte {
	size := []byte{byte(side), byte(side >> 8), byte(side), byte(side >> 8)}
	out := append(append([]byte("GIF89a"), size...), 0x80, 0, 0, 0, 0, 0, 255, 255, 255)
	frame := append(append([]byte{0x2c, 0, 0, 0, 0}, size...), 0, 2, 1, 0x44, 0)
	return append(append(out, bytes.Repeat(frame, frames)...), 0x3b)
}

func riffChunk(name string, data []byte) []byte {
	out := append([]byte(name), binary.LittleEndian.AppendUint32(nil, uint32(len(data)))...)
	if out = append(out, data...); len(data)%2 == 1 {
		out = append(out, 0)
	}
	return out
}

func riff(parts ...[]byte) []byte {
	inner := append([]byte("WEBP"), bytes.Join(parts, nil)...)
	return riffChunk("RIFF", inner)
}

func repeat(part []byte, count int) [][]byte {
	list := make([][]byte, count)
	for i := range list {
		list[i] = part
	}
	return list
}

// size24 encodes a length as WebP does: n-1 in three bytes, little-endian.
func size24(n int) []byte { return []byte{byte(n - 1), byte((n - 1) >> 8), byte((n - 1) >> 16)} }

func webpCanvas(width, height int, flags byte) []byte {
	return riffChunk("VP8X", append(append([]byte{flags, 0, 0, 0}, size24(width)...), size24(height)...))
}

func webpVP8(width, height int) []byte {
	return riffChunk("VP8 ", []byte{0x10, 0, 0, 0x9d, 0x01, 0x2a, byte(width), byte(width >> 8), byte(height), byte(height >> 8), 0, 0})
}

func webpFrame(width, height int) []byte {
	data := append(append(make([]byte, 6), size24(width)...), size24(height)...)
	return riffChunk("ANMF", append(append(data, 0, 0, 0, 0), webpVP8(16, 16)...))
}

func box(name string, data []byte) []byte {
	out := binary.BigEndian.AppendUint32(nil, uint32(len(data)+8))
	return append(append(out, name...), data...)
}

// nested returns boxes of an AVIF that are inside each other.
func nested(levels int) []byte {
	inner := box("ispe", make([]byte, 12))
	for range levels {
		inner = box("ipco", inner)
	}
	return inner
}

// AVIF returns the structure of a file without coded pixels. It states an item of width by height,
// an item of otherWidth by otherHeight, a number of items, and, if frames is not 0, a track of
// frames.
func AVIF(width, height, otherWidth, otherHeight, items, frames uint32) []byte {
	ispe := func(w, h uint32) []byte {
		return box("ispe", binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(make([]byte, 4), w), h))
	}
	properties := box("iprp", box("ipco", append(ispe(width, height), ispe(otherWidth, otherHeight)...)))
	count := box("iinf", append(binary.BigEndian.AppendUint32([]byte{1, 0, 0, 0}, items), make([]byte, 8)...))
	out := box("ftyp", []byte("avif\x00\x00\x00\x00avifmif1miaf"))
	out = append(out, box("meta", append(append(make([]byte, 4), count...), properties...))...)
	if frames > 0 {
		sizes := box("stsz", append(binary.BigEndian.AppendUint32(make([]byte, 8), frames), 0))
		out = append(out, box("moov", box("trak", box("mdia", box("minf", box("stbl", sizes)))))...)
	}
	return out
}
