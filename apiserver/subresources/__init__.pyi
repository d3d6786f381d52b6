from inkube.apiserver.subresources import table as table
