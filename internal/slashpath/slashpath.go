// Package slashpath splits slash-separated paths of a repository. They are relative and
// clean, and the top is "", where package path would return ".".
package slashpath

import "strings"

// Parent returns the folder of a path, "" for the top.
func Parent(path string) string { return path[:max(0, strings.LastIndexByte(path, '/'))] }

// Split splits a path into its folder ("" for the top) and its last part.
func Split(path string) (dir, name string) {
	if i := strings.LastIndexByte(path, '/'); i >= 0 {
		return path[:i], path[i+1:]
	}
	return "", path
}

// Parents returns the folders that contain path, outer ones first, without the top.
func Parents(path string) []string {
	var dirs []string
	for i := range len(path) {
		if path[i] == '/' {
			dirs = append(dirs, path[:i])
		}
	}
	return dirs
}
