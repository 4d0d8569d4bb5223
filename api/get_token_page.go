package api

import (
	"bytes"
	"fmt"
	"html"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/mintlake/mintlake/schemas/pubkey"
)

// getTokenPage is GET /token/{mint}: the explorer's document. For a member it also has what a chat
// or a social network shows of a link: the Open Graph protocol (https://ogp.me).
func (s *Server) getTokenPage(c *fiber.Ctx) error {
	if err := s.explorer(c); err != nil {
		return err
	}
	mint, err := pubkey.Parse(pathMint(c))
	if err != nil {
		return nil // the page itself shows that this is no mint
	}
	token := s.replica.Lookup(mint)
	if token == nil {
		return nil
	}
	title := strings.TrimSpace(token.Symbol + " " + token.Name)
	if title == "" {
		title = mint.String()
	}
	var tags strings.Builder
	for _, tag := range [][2]string{
		{"og:site_name", "Mintlake"},
		{"og:type", "website"},
		{"og:title", atMost(title, 100)},
		{"og:description", "A token on Solana: " + mint.String()},
		{"og:url", c.BaseURL() + "/token/" + mint.String()},
		{"og:image", c.BaseURL() + "/img/" + mint.String()},
	} {
		fmt.Fprintf(&tags, "<meta property=\"%s\" content=\"%s\">\n", tag[0], html.EscapeString(tag[1]))
	}
	c.Response().SetBody(bytes.Replace(c.Response().Body(), []byte("</head>"), []byte(tags.String()+"</head>"), 1))
	return nil
}

// atMost returns text or, if it has more than this number of characters, its beginning and ….
func atMost(text string, characters int) string {
	if runes := []rune(text); len(runes) > characters {
		return string(runes[:characters-1]) + "…"
	}
	return text
}
