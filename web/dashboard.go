package web

import (
	"embed"
	"io/fs"
	"net/http"
	"strings"
)

//go:embed dashboard
var dashboard embed.FS

// dashboardPrefix is the path of the dashboard's files.
const dashboardPrefix = "/dashboard/"

// Dashboard serves the operator's dashboard: its page at /, its files under /dashboard/. They are
// plain JavaScript modules that need no build.
func Dashboard() http.Handler {
	files, err := fs.Sub(dashboard, "dashboard")
	if err != nil {
		panic(err) // the folder is embedded above
	}
	server := http.StripPrefix(dashboardPrefix, http.FileServerFS(files))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("Content-Security-Policy", contentSecurityPolicy(""))
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Referrer-Policy", "no-referrer")
		header.Set("Cache-Control", "no-cache")
		name := strings.TrimPrefix(r.URL.Path, dashboardPrefix)
		switch info, err := fs.Stat(files, name); {
		case r.URL.Path == "/":
			http.ServeFileFS(w, r, files, "index.html")
		case err != nil || info.IsDir() || name == "index.html":
			http.NotFound(w, r)
		default:
			server.ServeHTTP(w, r)
		}
	})
}
