package picture

import (
	"bytes"
	"encoding/binary"
)

// Sniff returns the type of an image by its first bytes; empty if they are not those of an image.
// It does not check the other bytes.
func Sniff(body []byte) string {
	switch {
	case bytes.HasPrefix(body, []byte("\x89PNG\r\n\x1a\n")):
		return PNG
	case bytes.HasPrefix(body, []byte("\xff\xd8\xff")):
		return JPEG
	case bytes.HasPrefix(body, []byte("GIF87a")), bytes.HasPrefix(body, []byte("GIF89a")):
		return GIF
	case len(body) >= 16 && string(body[:4]) == "RIFF" && string(body[8:12]) == "WEBP":
		return WebP
	case isAVIF(body):
		return AVIF
	case len(body) >= fileHeader+infoHeader && string(body[:2]) == "BM" && binary.LittleEndian.Uint32(body[14:]) <= 124:
		return BMP
	case isICO(body):
		return ICO
	case looksLikeSVG(body):
		return SVG
	}
	return ""
}

// isAVIF reports whether the first 256 bytes of the file type box have the brand avif or avis. It
// does not look at offset 12, where the box has its version. ISO/IEC 14496-12, 4.3.
func isAVIF(body []byte) bool {
	if len(body) < 16 || string(body[4:8]) != "ftyp" {
		return false
	}
	size := min(uint64(binary.BigEndian.Uint32(body)), uint64(len(body)), 256)
	for i := uint64(8); i+4 <= size; i += 4 {
		if brand := string(body[i : i+4]); i != 12 && (brand == "avif" || brand == "avis") {
			return true
		}
	}
	return false
}

// animated reports whether an image that can be decoded is an animation. A PNG, WebP or AVIF states
// that in its header; the frames of a GIF are counted.
func animated(body []byte, kind string) bool {
	switch kind {
	case PNG:
		return animatedPNG(body)
	case GIF:
		return framesOfGIF(body) > 1
	case WebP:
		return len(body) > 20 && string(body[12:16]) == "VP8X" && body[20]&2 != 0
	case AVIF:
		return string(body[8:12]) == "avis"
	}
	return false
}

// animatedPNG looks for the animation control chunk before the image data.
// https://wiki.mozilla.org/APNG_Specification
func animatedPNG(body []byte) bool {
	for i := 8; i+8 <= len(body); {
		switch string(body[i+4 : i+8]) {
		case "acTL":
			return true
		case "IDAT":
			return false
		}
		next := uint64(i) + 12 + uint64(binary.BigEndian.Uint32(body[i:]))
		if next > uint64(len(body)) {
			return false
		}
		i = int(next)
	}
	return false
}

// Parts of a GIF: GIF89a, sections 17 to 24.
const (
	gifHeader    = 13 // bytes of the header and the logical screen descriptor
	gifExtension = 0x21
	gifImage     = 0x2c // an image descriptor of 10 bytes, a color table, a byte, then blocks
)

// colorTable returns how many bytes of color table follow a descriptor with these flags.
func colorTable(flags byte) int {
	if flags&0x80 == 0 {
		return 0
	}
	return 3 << (flags&7 + 1)
}

// framesOfGIF counts the frames of a GIF, up to two.
func framesOfGIF(body []byte) int {
	if len(body) < gifHeader {
		return 0
	}
	frames, i := 0, gifHeader+colorTable(body[10])
	for i < len(body) && frames < 2 {
		switch body[i] {
		case gifExtension: // its label, then blocks
			i = skipBlocks(body, i+2)
		case gifImage:
			frames++
			if i+9 >= len(body) {
				return frames
			}
			i = skipBlocks(body, i+10+colorTable(body[i+9])+1)
		default:
			return frames
		}
	}
	return frames
}

// skipBlocks returns the index after a sequence of data blocks that begins at i.
func skipBlocks(body []byte, i int) int {
	for i < len(body) && body[i] != 0 {
		i += int(body[i]) + 1
	}
	return i + 1
}
