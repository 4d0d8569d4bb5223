package picture

import (
	"bytes"
	"encoding/binary"
)

// Sniff is the type of an image by its first bytes, empty when it is none. It proves nothing about
// the rest.
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
	case looksLikeSVG(body):
		return SVG
	}
	return ""
}

// isAVIF looks for the brands avif or avis in the file type box. ISO/IEC 14496-12, 4.3.
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

// animated says that an image that decodes has more than one frame.
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

// framesOfGIF counts image descriptors, up to two. GIF89a, section 20.
func framesOfGIF(body []byte) int {
	frames, i := 0, 13
	if len(body) < i {
		return 0
	}
	if body[10]&0x80 != 0 {
		i += 3 << (body[10]&7 + 1)
	}
	for i < len(body) && frames < 2 {
		switch body[i] {
		case 0x21: // an extension: its label, then blocks
			i = skipBlocks(body, i+2)
		case 0x2c:
			frames++
			if i+9 >= len(body) {
				return frames
			}
			table := 0
			if body[i+9]&0x80 != 0 {
				table = 3 << (body[i+9]&7 + 1)
			}
			i = skipBlocks(body, i+10+table+1)
		default:
			return frames
		}
	}
	return frames
}

func skipBlocks(body []byte, i int) int {
	for i < len(body) && body[i] != 0 {
		i += int(body[i]) + 1
	}
	return i + 1
}
