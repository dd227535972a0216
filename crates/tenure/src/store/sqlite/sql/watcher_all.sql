SELECT process FROM watcher
