package e2b

import (
	"net/http"

	"connectrpc.com/connect"

	aiboxv1 "aibox/api/aibox/v1"
)

// volumeJSON is a volume. Its name is its id, and no token opens it.
type volumeJSON struct {
	ID    string `json:"volumeID"`
	Name  string `json:"name"`
	Token string `json:"token"`
}

func (s *Server) createVolume(w http.ResponseWriter, r *http.Request) error {
	var body struct {
		Name string `json:"name"`
	}
	if err := readBody(w, r, &body); err != nil {
		return err
	}
	made, err := s.backend.volumes.Create(r.Context(), connect.NewRequest(&aiboxv1.CreateVolumeRequest{Name: body.Name}))
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusCreated, volumeJSON{ID: made.Msg.Name, Name: made.Msg.Name})
	return nil
}

func (s *Server) volumes(r *http.Request) ([]volumeJSON, error) {
	listed, err := s.backend.volumes.List(r.Context(), connect.NewRequest(&aiboxv1.ListVolumesRequest{}))
	if err != nil {
		return nil, err
	}
	all := []volumeJSON{}
	for _, v := range listed.Msg.Volumes {
		all = append(all, volumeJSON{ID: v.Name, Name: v.Name})
	}
	return all, nil
}

func (s *Server) listVolumes(w http.ResponseWriter, r *http.Request) error {
	all, err := s.volumes(r)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, all)
	return nil
}

func (s *Server) getVolume(w http.ResponseWriter, r *http.Request) error {
	all, err := s.volumes(r)
	if err != nil {
		return err
	}
	for _, v := range all {
		if v.ID == r.PathValue("name") {
			writeJSON(w, http.StatusOK, v)
			return nil
		}
	}
	return &apiError{http.StatusNotFound, "there is no such volume"}
}

func (s *Server) deleteVolume(w http.ResponseWriter, r *http.Request) error {
	if _, err := s.backend.volumes.Delete(r.Context(), connect.NewRequest(&aiboxv1.DeleteVolumeRequest{Name: r.PathValue("name")})); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
