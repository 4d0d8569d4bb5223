package enrich

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mintlake/mintlake/logos/fetch"
	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

// Bounds of what is kept of a document, in bytes or members. A longer text is cut between two
// runes. A longer URL is dropped: half of a URL is useless.
const (
	maxName        = 256
	maxSymbol      = 64
	maxDescription = 4096
	maxURL         = 2048
	maxDataURL     = 16 << 10
	maxExtensions  = 32
	maxKey         = 64
	maxValue       = 1024
	maxTags        = 32
	maxTag         = 64
	maxReason      = 500
	maxRaw         = 16 << 10
)

// topLevelLinks are links that launchpads write at the top level of a document instead of under
// extensions.
var topLevelLinks = []string{"website", "twitter", "telegram", "discord", "medium", "github", "coingeckoId"}

// normalise reads an off-chain metadata document as it is found in the wild. It leaves out a member
// that is missing or of another type. The only error is a document that is not an object: a
// *fetch.Error of fetch.ClassNotJSON. normalise is pure.
func normalise(uri string, body []byte) (*eventspb.OffchainMetadata, error) {
	document, ok := decodeObject(body)
	if !ok {
		return nil, &fetch.Error{Class: fetch.ClassNotJSON, Err: errNotAnObject}
	}
	return &eventspb.OffchainMetadata{
		Uri:         []byte(uri),
		Name:        validText(scalar(document["name"]), maxName),
		Symbol:      validText(scalar(document["symbol"]), maxSymbol),
		Description: validText(scalar(document["description"]), maxDescription),
		Image:       imageOf(document),
		ExternalUrl: webURL(firstString(document, "external_url", "externalUrl")),
		Extensions:  extensionsOf(document),
		Tags:        tagsOf(document["tags"]),
	}, nil
}

var errNotAnObject = errors.New("no JSON object")

// decodeObject decodes an object, or a list that begins with one. Numbers stay text, so that
// floating point cannot change them.
func decodeObject(body []byte) (map[string]any, bool) {
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, false
	}
	if list, ok := value.([]any); ok && len(list) > 0 {
		value = list[0]
	}
	object, ok := value.(map[string]any)
	return object, ok
}

// scalar returns the text of a string or a number: a token named 420 may have its name without
// quotes.
func scalar(value any) string {
	switch value := value.(type) {
	case string:
		return value
	case json.Number:
		return value.String()
	}
	return ""
}

// firstString returns the first member of names that is a string and not blank.
func firstString(object map[string]any, names ...string) string {
	for _, name := range names {
		if text, ok := object[name].(string); ok && strings.TrimSpace(text) != "" {
			return text
		}
	}
	return ""
}

// imageOf returns the logo's URL: the first text that can be fetched among image and its other
// names, the images of properties, and the images among properties.files. A text that is no URL
// ("image.png", "N/A") is passed over. If nothing can be fetched, the first absolute URI stands, so
// that the logo counts as broken, not as missing.
func imageOf(document map[string]any) string {
	properties, _ := document["properties"].(map[string]any)
	found := ""
	for _, object := range []map[string]any{document, properties} {
		for _, name := range []string{"image", "image_url", "imageUrl", "logo", "logoURI", "icon"} {
			for _, text := range imageTexts(object[name]) {
				if image := imageURL(text); fetch.Fetchable(image) {
					return image
				} else if found == "" && strings.Contains(image, "://") {
					found = image
				}
			}
		}
	}
	files, _ := properties["files"].([]any)
	for _, entry := range files {
		file, _ := entry.(map[string]any)
		if kind := strings.ToLower(firstString(file, "type")); kind != "" && !strings.HasPrefix(kind, "image/") {
			continue
		}
		for _, text := range imageTexts(entry) {
			if image := imageURL(text); fetch.Fetchable(image) {
				return image
			}
		}
	}
	return found
}

// imageTexts returns the texts that may be an image's URL: the value itself, the members of an
// object, the first elements of a list.
func imageTexts(value any) (texts []string) {
	switch value := value.(type) {
	case string:
		return []string{value}
	case map[string]any:
		for _, name := range []string{"uri", "url", "href", "src", "cdn_uri"} {
			if text, ok := value[name].(string); ok {
				texts = append(texts, text)
			}
		}
	case []any:
		for _, element := range value[:min(len(value), 8)] {
			if _, nested := element.([]any); !nested {
				texts = append(texts, imageTexts(element)...)
			}
		}
	}
	return texts
}

// imageURL returns what a fetcher can use, percent-encoded: a URL, a content identifier or a data
// URI of an image. For anything else it returns an empty text. Only the fetcher finds out whether
// it can be fetched.
func imageURL(text string) string {
	text = cleanURL(text)
	lower := strings.ToLower(text[:min(len(text), 16)])
	switch {
	case strings.HasPrefix(lower, "data:image/"):
		if len(text) <= maxDataURL {
			return registry.EncodeURI(text)
		}
		return ""
	case len(text) > maxURL, hasActiveScheme(lower):
		return ""
	}
	return registry.EncodeURI(fetch.WithScheme(fetch.BrowserURL(text)))
}

// webURL returns an absolute http or https URL, because only these may be links in a page. It
// percent-encodes characters that a URI may not contain. For anything else it returns an empty
// text.
func webURL(text string) string {
	text = fetch.BrowserURL(cleanURL(text))
	if len(text) > maxURL {
		return ""
	}
	parsed, err := url.Parse(text)
	if err != nil || (parsed.Scheme != "http" && parsed.Scheme != "https") || parsed.Host == "" {
		return ""
	}
	return registry.EncodeURI(text)
}

// cleanURL removes white space around a URL, and control characters inside, as browsers do.
func cleanURL(text string) string {
	text = strings.ToValidUTF8(text, "")
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return -1
		}
		return r
	}, text)
	return strings.TrimSpace(text)
}

// hasActiveScheme reports whether a link could run code or open local content in a browser. lower
// is the link's text in lower case, or the beginning of it.
func hasActiveScheme(lower string) bool {
	for _, scheme := range []string{"javascript:", "vbscript:", "data:", "file:", "blob:"} {
		if strings.HasPrefix(lower, scheme) {
			return true
		}
	}
	return false
}

// extensionsOf collects links: those at the top level, then the members of extensions that are
// strings, which replace links of the same name. If there are too many, the well-known ones are
// kept first, then the others by name.
func extensionsOf(document map[string]any) map[string]string {
	links := map[string]string{}
	for _, name := range topLevelLinks {
		addLink(links, name, document[name])
	}
	nested, _ := document["extensions"].(map[string]any)
	names := make([]string, 0, len(nested))
	for name := range nested {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		if known := boolOrder(slices.Contains(topLevelLinks, a), slices.Contains(topLevelLinks, b)); known != 0 {
			return known
		}
		return strings.Compare(a, b)
	})
	for _, name := range names {
		addLink(links, name, nested[name])
	}
	if len(links) == 0 {
		return nil
	}
	return links
}

// boolOrder sorts true before false.
func boolOrder(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// addLink adds a link that is valid, safe and within the bounds.
func addLink(links map[string]string, name string, value any) {
	text, ok := value.(string)
	if !ok {
		return
	}
	name, text = validText(name, maxKey), cleanURL(text)
	if _, had := links[name]; name == "" || text == "" || len(text) > maxValue || hasActiveScheme(strings.ToLower(text)) ||
		(!had && len(links) >= maxExtensions) {
		return
	}
	links[name] = text
}

// tagsOf returns the tags in a list of strings, or in one string with commas.
func tagsOf(value any) []string {
	var found []string
	switch value := value.(type) {
	case string:
		found = strings.Split(value, ",")
	case []any:
		for _, entry := range value {
			if text, ok := entry.(string); ok {
				found = append(found, text)
			}
		}
	}
	var tags []string
	for _, text := range found {
		tag := validText(text, maxTag)
		if tag == "" || slices.Contains(tags, tag) {
			continue
		}
		if tags = append(tags, tag); len(tags) == maxTags {
			break
		}
	}
	return tags
}

// validText makes text fit to store: valid UTF-8 without control characters except line feeds and
// tabs, trimmed, at most limit bytes.
func validText(text string, limit int) string {
	if len(text) > 4*limit {
		// This bounds the work. A rune cut in half here is replaced by U+FFFD, which is cut off
		// below, unless most of the text is control characters.
		text = text[:4*limit]
	}
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
	text = strings.TrimSpace(text)
	if len(text) > limit {
		cut := limit
		for cut > 0 && !utf8.RuneStart(text[cut]) {
			cut--
		}
		text = strings.TrimSpace(text[:cut])
	}
	return text
}

// keepRaw adds the start of the original document, for analysts and for rules that do not exist
// yet.
func keepRaw(document *eventspb.OffchainMetadata, response *fetch.Response) {
	raw := bytes.ToValidUTF8(response.Body, []byte("\uFFFD"))
	cut := min(len(raw), maxRaw)
	for cut > 0 && cut < len(raw) && !utf8.RuneStart(raw[cut]) {
		cut--
	}
	document.Raw, document.RawSize, document.ContentVerified = bytes.Clone(raw[:cut]), uint64(len(response.Body)), response.Verified
}
