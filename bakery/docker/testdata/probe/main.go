// Probe is the only program in the images of this package's tests.
package main

import (
	"net/http"
	"os"
	"strings"
	"time"
)

func main() {
	switch os.Args[1] {
	case "say":
		println(os.Args[2])
	case "write": // appends its arguments to a file
		old, _ := os.ReadFile(os.Args[2])
		if err := os.WriteFile(os.Args[2], append(old, os.Args[3]...), 0o644); err != nil {
			panic(err)
		}
		println("before: " + string(old))
	case "fail":
		println("first line")
		println("\x1b[31mlast line")
		os.Exit(7)
	case "hang": // with a timer, since the Go runtime would report a deadlock
		println("ready")
		for {
			time.Sleep(time.Hour)
		}
	case "registry":
		registry()
	}
}

// registry serves the files of /data as a registry of images: manifests and
// blobs by digest, under any repository's name.
func registry() {
	err := http.ListenAndServe(":5000", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v2/" {
			return
		}
		parts := strings.Split(r.URL.Path, "/")
		data, err := os.ReadFile("/data/" + strings.TrimPrefix(parts[len(parts)-1], "sha256:"))
		if err != nil {
			http.NotFound(w, r)
			return
		}
		if parts[len(parts)-2] == "manifests" {
			w.Header().Set("Content-Type", "application/vnd.docker.distribution.manifest.v2+json")
			w.Header().Set("Docker-Content-Digest", parts[len(parts)-1])
		}
		_, _ = w.Write(data)
	}))
	panic(err)
}
