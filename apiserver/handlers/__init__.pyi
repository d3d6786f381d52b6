from inkube.apiserver.handlers import packed as packed
