// Package store is the database of the server.
package store

import _ "modernc.org/sqlite"
